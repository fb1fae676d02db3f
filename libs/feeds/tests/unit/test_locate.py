"""An offer is located where both passes of a load see it, even in a file that cannot be loaded."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.registry import FORMATS
from classifeed_feeds.locate import Place, locate_offer
from classifeed_feeds.source.limits import DEFAULT_LIMITS
from classifeed_feeds.source.source import open_source

from ..conftest import Load, WriteOffer, WriteYml

Locate = Callable[..., list[Place]]


@pytest.fixture
def locate(tmp_path: Path) -> Locate:
    def run(content: bytes, external_id: str, **options: int) -> list[Place]:
        path = tmp_path / "feed"
        path.write_bytes(content)
        return locate_offer(open_source(path, DEFAULT_LIMITS), tmp_path, external_id, **options)

    return run


def test_every_place_of_an_id_is_found(locate: Locate, yml: WriteYml, offer: WriteOffer) -> None:
    feed = yml(offer("a"), offer(" b ", name="Ложка"), offer("c") + offer("b"))
    places = locate(feed, "b")
    assert [(place.ordinal, place.line) for place in places] == [(2, 8), (4, 9)]
    line = feed.decode().split("\n")[8]
    assert places[1].column == line.index('<offer id="b"') + 1 > 1
    assert places[0].excerpt.startswith('<offer id=" b "><name>Ложка</name>')
    assert places[0].excerpt.endswith("</offer>")
    assert locate(feed, " b ") == places
    assert locate(feed, "b", limit=1) == places[:1]
    assert locate(feed, "B") == []


def test_lines_are_those_of_the_load(locate: Locate, load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    feed = b"\r\n\n" + yml(*(offer(f"й{n}", description="текст\n" * (n % 5)) for n in range(3000)))
    records = load(feed).records
    for record in (records[0], records[1500], records[-1]):
        (place,) = locate(feed, record.external_id)
        assert (place.ordinal, place.line) == (record.ordinal, record.line)
        assert place.excerpt.startswith(f'<offer id="{record.external_id}">')


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("prolog", "encoding"),
    [
        ('<?xml version="1.0" encoding="windows-1251"?>\n', "cp1251"),
        ('<?xml version="1.0" encoding="UTF-8"?>\n', "cp1251"),
        ('<?xml version="1.0" encoding="UTF-16"?>\n', "utf-16"),
        ('<?xml version="1.0" encoding="windows-1251"?>\n', "utf-8"),
    ],
)
def test_encodings_are_those_of_the_load(
    locate: Locate, yml: WriteYml, offer: WriteOffer, prolog: str, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    feed = yml(offer("a", name="Съёмный жёсткий диск") + offer("ключ"), prolog=prolog, encoding=encoding)
    (place,) = locate(pack(feed), "ключ")
    line = feed.decode(encoding).split("\n")[6]
    assert (place.ordinal, place.line, place.column) == (2, 7, line.index('<offer id="ключ"') + 1)
    assert place.excerpt.startswith('<offer id="ключ"><name>Чайник')


def test_a_file_that_breaks_off_gives_what_stands_before(locate: Locate, yml: WriteYml, offer: WriteOffer) -> None:
    feed = yml(offer("a"), offer("b"), offer("a"), offer("c", name="x < y"), offer("a"))
    assert [place.ordinal for place in locate(feed, "a")] == [1, 3]
    cut = feed[: feed.index(b"<name>", feed.index(b'id="b"'))]
    assert [(place.ordinal, place.excerpt) for place in locate(cut, "b")] == [(2, '<offer id="b">')]
    packed = gzip.compress(yml(*(offer(f"a{n}", name=f"{n * 7919:x}") for n in range(20_000))))
    assert [place.ordinal for place in locate(packed[: len(packed) // 2], "a10")] == [11]


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"<other><offer id='a'/></other>", codecs.BOM_UTF32_LE, b"\x1f\x8b"]
)
def test_what_is_no_feed_has_no_places(locate: Locate, content: bytes) -> None:
    assert locate(content, "a") == []


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1251", "utf-16"])
@pytest.mark.parametrize("found", FORMATS, ids=lambda found: found.name)
def test_every_format_is_searched_by_the_ids_of_its_load(
    locate: Locate, load: Load, found: Format, encoding: str
) -> None:
    text = found.read_file(found.sample).decode().replace('encoding="UTF-8"', f'encoding="{encoding}"', 1)
    sample = text.encode(encoding, "xmlcharrefreplace")
    lines = text.split("\n")
    records = load(sample).records
    for record in records:
        (place,) = locate(sample, record.external_id)
        assert (place.ordinal, place.line) == (record.ordinal, record.line)
        assert place.column == lines[place.line - 1].index(f"<{found.names.offer}") + 1
        assert place.excerpt.startswith(f"<{found.names.offer}")
        assert record.external_id in place.excerpt or len(place.excerpt) == 200
    last = sample[: sample.rindex("</".encode(encoding.replace("16", "16-le")), 0, -60)]
    assert [place.ordinal for place in locate(last, records[0].external_id)] == [1]


def test_ids_in_elements_are_searched_as_they_are_read(locate: Locate, load: Load) -> None:
    items = (
        "<item><id>a</id><g:id> b </g:id></item>",
        "<item><g:id><![CDATA[a]]></g:id></item>",
        "<item><id>a</id></item>",
        "<item><g:x><g:id>a</g:id></g:x></item>",
        "<item><g:id/><g:id>a<!-- c --></g:id><g:id>d</g:id></item>",
    )
    feed = f'<rss xmlns:g="http://base.google.com/ns/1.0"><channel>{"".join(items)}</channel></rss>'.encode()
    assert [place.ordinal for place in locate(feed, "a")] == [2, 3, 5]
    assert [place.ordinal for place in locate(feed, "b")] == [1]
    ids = [record.errors[0].external_id if record.errors else "" for record in load(feed).records]
    assert ids == ["b", "a", "a", "record:4", "a"]
