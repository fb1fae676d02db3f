"""The byte range of every offer is that of its element, for any notation of its tag and any end of a chunk."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classifeed_feeds import reading
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.formats.registry import FORMATS
from classifeed_feeds.locate import locate_offer
from classifeed_feeds.source.limits import DEFAULT_LIMITS, Limits
from classifeed_feeds.source.parsed_bytes import ParsedBytes
from classifeed_feeds.source.positions import read_positions
from classifeed_feeds.source.source import open_source

from ...conftest import Load, Scan

YML = ("<yml_catalog><shop><offers>", "offer", "</offers></shop></yml_catalog>")
PREFIXED = (
    '<g:rss xmlns:g="http://base.google.com/ns/1.0"><g:channel>', "g:item", "</g:channel></g:rss>",
)  # fmt: skip
blank = st.sampled_from(["", " ", "\n\t", "  "])
attributes = st.lists(
    st.sampled_from([' a="1"', " b='>'", ' c="/>"', " d = '\"/>\"'", ' e="я"', ' f="offer/>"', ' g="&gt;&quot;"']),
    max_size=3,
    unique_by=lambda attribute: attribute.strip()[0],
).map("".join)
inside = st.lists(
    st.sampled_from(
        ["текст", "/>", "&lt;offer/&gt;", "<a/>", "<a >b</a>", "<!-- </offer> <offer/> -->",
         "<![CDATA[</offer><offer/>]]>", "<?pi </offer>?>", "<a><offer/></a>", "\n"]
    ),
    max_size=4,
).map("".join)  # fmt: skip
between = st.sampled_from(["", "\n", "  ", "<!-- <offer/> -->", "<ofer/>"])


@st.composite
def offers(draw: st.DrawFn) -> tuple[str, str]:
    """Return the rest of a start tag, and what follows it up to the name in the end tag; the latter empty for an
    empty tag.
    """
    start = draw(attributes) + draw(blank)
    if draw(st.booleans()):
        return start + "/>", ""
    return start + ">", draw(inside) + "</"


Parts = tuple[str, str, str]
"""Text before the offers, their tag, and text after them."""
GivenOffers = list[tuple[tuple[str, str], str, str]]
"""Offers as of `offers`, with the blank in the end tag and the text before the next offer."""


def written(parts: Parts, given_offers: GivenOffers, encoding: str) -> tuple[bytes, list[tuple[int, int]]]:
    """Return a file, and the known range of each offer in it."""
    head, tag, tail = parts
    content = head.encode(encoding)
    ranges = []
    for (start, rest), space, gap in given_offers:
        element = f"<{tag}{start}{rest}" + (f"{tag}{space}>" if rest else "")
        ranges.append((len(content), len(content) + len(element.encode(encoding))))
        content += (element + gap).encode(encoding)
    return content + tail.encode(encoding), ranges


def scan_positions(scan: Scan, content: bytes, chunk: int) -> list[tuple[int, int]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "CHUNK_BYTES", chunk)
        return list(read_positions(scan(content).positions))


@pytest.mark.parametrize("parts", [YML, PREFIXED], ids=["yml", "prefixed"])
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=300)
@given(st.lists(st.tuples(offers(), blank, between), min_size=1, max_size=6), st.sampled_from([1, 3, 17, 256, 1 << 18]))
def test_ranges_are_those_of_the_elements(scan: Scan, parts: Parts, given_offers: GivenOffers, chunk: int) -> None:
    content, ranges = written(parts, given_offers, "utf-8")
    assert scan_positions(scan, content, chunk) == ranges


@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=100)
@given(st.lists(st.tuples(offers(), blank, between), min_size=1, max_size=6), st.sampled_from([1, 17, 1 << 18]))
def test_both_passes_agree_in_every_encoding(scan: Scan, load: Load, given_offers: GivenOffers, chunk: int) -> None:
    prolog = '<?xml version="1.0" encoding="windows-1251"?>'
    content, ranges = written((prolog + YML[0], *YML[1:]), given_offers, "cp1251")
    assert scan_positions(scan, content, chunk) == ranges
    wide, _ = written(YML, given_offers, "utf-16")
    _, narrow = written(YML, given_offers, "utf-8")
    wide = b"\xff\xfe" + wide.replace(b"\xff\xfe", b"")
    assert scan_positions(scan, wide, max(chunk, 2)) == narrow
    assert len(load(content).records) == len(load(wide).records) == len(ranges)


def test_ranges_grow_and_do_not_overlap_in_every_sample(scan: Scan) -> None:
    for found in FORMATS:
        content = found.read_file(found.sample)
        tag = found.names.offer
        for each in (content, re.sub(rf"<{tag}\b.*?</{tag}>".encode(), f"<{tag}/>".encode(), content, flags=re.S)):
            ranges = list(read_positions(scan(each).positions))
            assert ranges
            assert all(start < end for start, end in ranges)
            assert all(before[1] <= after[0] for before, after in pairwise(ranges))
            assert all(each[start:].startswith(f"<{tag}".encode()) for start, _ in ranges)


@pytest.mark.parametrize(
    "form", ["<offer id='{}'/>", "<offer id='{}' />", "<offer\tid='{}'/>", "<offer id='{}'></offer >"]
)
@pytest.mark.parametrize("gap", ["", "\n"])
def test_empty_offers_are_offers(scan: Scan, load: Load, tmp_path: Path, form: str, gap: str) -> None:
    content = (YML[0] + gap.join(form.format(each) for each in "abc") + YML[2]).encode()
    assert [record.external_id for record in load(content).records] == ["a", "b", "c"]
    (tmp_path / "one").write_bytes(content)
    (place,) = locate_offer(open_source(tmp_path / "one", DEFAULT_LIMITS), tmp_path, "b")
    assert place.excerpt == form.format("b").replace("\t", " ")


class NaiveBytes(ParsedBytes):
    """Takes the end of an empty tag for its beginning, and does not handle prefixes."""

    def end_of_element(self, start: int, position: int, *, is_childless: bool) -> int:
        return position + len("</offer>")


@pytest.mark.parametrize("content", ["<offer id='a'/><offer id='b'/>", "<offer id='a'></offer >"])
def test_the_naive_way_is_seen(scan: Scan, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr(reading, "ParsedBytes", NaiveBytes)
    text = (YML[0] + content + YML[2]).encode()
    try:
        found = list(read_positions(scan(text).positions))
    except OverflowError:
        return
    assert found != [(len(YML[0]), len(YML[0]) + len(content))]


def test_a_file_of_more_offers_than_can_be_kept_apart_is_refused(scan: Scan) -> None:
    content = (YML[0] + "<offer/>" * 11 + YML[2]).encode()
    with pytest.raises(FeedFault) as caught:
        scan(content, Limits(offers=10))
    assert (caught.value.code, "10 offers" in caught.value.message) == ("FILE_TOO_LARGE", True)
