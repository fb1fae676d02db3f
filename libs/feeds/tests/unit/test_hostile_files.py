"""Hostile files are refused in bounded memory, each measured in a separate process.

A parser's memory seldom depends on the bytes of the file: each tag, name, attribute, namespace, declaration and id
takes many times its bytes. With limits on bytes only, a file of 16 MB took 545 MiB.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from classifeed_feeds.formats.registry import FORMATS

from ..measuring import measure

MIB = 1 << 20
LIMIT_MIB = 300


class Shell(NamedTuple):
    """The parts of a format's file around its offers, and the elements to repeat endlessly."""

    head: bytes
    offer: bytes
    text: bytes
    child: bytes
    tail: bytes


G = b'xmlns:g="http://base.google.com/ns/1.0"'
SHELLS = {
    "yml": Shell(
        b"<yml_catalog><shop><offers>",
        b'<offer id="%d">',
        b"<description>",
        b"<param name='a'>b</param>",
        b"</offer></offers></shop></yml_catalog>",
    ),
    "google_rss": Shell(
        b"<rss " + G + b"><channel>",
        b"<item><g:id>%d</g:id>",
        b"<g:description>",
        b"<g:color>b</g:color>",
        b"</item></channel></rss>",
    ),
    "google_atom": Shell(
        b'<feed xmlns="http://www.w3.org/2005/Atom" ' + G + b">",
        b"<entry><g:id>%d</g:id>",
        b"<summary>",
        b"<g:color>b</g:color>",
        b"</entry></feed>",
    ),
    "native": Shell(
        b'<classifeed version="1"><offers>',
        b'<offer id="%d">',
        b"<description>",
        b"<attribute name='a'>b</attribute>",
        b"</offer></offers></classifeed>",
    ),
}
HEAD = SHELLS["yml"].head
TAIL = b"</offers></shop></yml_catalog>"


def test_every_format_is_tried() -> None:
    assert set(SHELLS) == {each.name for each in FORMATS}


def probe(path: Path, limit_mib: int = LIMIT_MIB) -> str:
    measured = measure(path)
    assert measured.peak_mib < limit_mib, f"{measured.outcome} at {measured.peak_mib} MiB"
    return measured.outcome


def write(path: Path, start: bytes, fill: bytes, size: int, end: bytes = b"") -> Path:
    with path.open("wb") as file:
        file.write(start)
        block = fill * (MIB // len(fill))
        for _ in range(size // len(block)):
            file.write(block)
        file.write(end)
    return path


ENDLESS: dict[str, Callable[[Shell], tuple[bytes, bytes]]] = {
    "text": lambda shell: (shell.head + shell.offer % 1 + shell.text, b"x"),
    "CDATA": lambda shell: (shell.head + shell.offer % 1 + shell.text + b"<![CDATA[", b"x"),
    "attribute": lambda shell: (shell.head + shell.offer % 1 + b'<name a="', b"x"),
    "comment": lambda shell: (shell.head + b"<!-- ", b"x"),
    "nesting": lambda shell: (shell.head + shell.offer % 1, b"<a>"),
    "children": lambda shell: (shell.head + shell.offer % 1, shell.child),
    "strangers": lambda shell: (shell.head, b"<other/>"),
    "id": lambda shell: (shell.head + (shell.offer % 1).partition(b"1")[0], b"1"),
}


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("name", SHELLS)
def test_endless_pieces_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    start, fill = ENDLESS[kind](SHELLS[name])
    assert probe(write(tmp_path / "feed", start, fill, 100 * MIB)) == "UNSAFE_XML"


@pytest.mark.parametrize(
    "start", [b"<yml_catalog><shop><categories>", b'<classifeed version="1"><categories>'], ids=["yml", "native"]
)
def test_endless_categories_are_refused(tmp_path: Path, start: bytes) -> None:
    assert probe(write(tmp_path / "feed", start, b'<category id="1">a</category>', 100 * MIB)) == "UNSAFE_XML"


@pytest.mark.parametrize("name", SHELLS)
def test_endless_different_names_are_refused(tmp_path: Path, name: str) -> None:
    shell = SHELLS[name]
    end = shell.tail[: shell.tail.index(b">") + 1]
    path = tmp_path / "feed"
    with path.open("wb") as file:
        file.write(shell.head)
        for number in range(100_000):
            file.write(shell.offer % number + b"<t%d/>" % number + end)
        file.write(shell.tail.removeprefix(end))
    assert probe(path) == "UNSAFE_XML"


@pytest.mark.parametrize("fill", [b"\0", b" "])
def test_ten_gigabytes_in_an_archive_are_refused(tmp_path: Path, fill: bytes) -> None:
    path = tmp_path / "feed.gz"
    member = gzip.compress(fill * (64 * MIB), 1)
    with path.open("wb") as file:
        file.write(gzip.compress(HEAD))
        for _ in range(160):
            file.write(member)
    assert probe(path) in {"FILE_TOO_LARGE", "UNSAFE_XML", "MALFORMED_XML"}


def numbered(form: bytes, count: int) -> bytes:
    return b"".join(form % (number,) for number in range(count))


YML = b"<yml_catalog>"
OFFER = b'<offer id="1">'
ENTITY = b'<!DOCTYPE yml_catalog [<!ENTITY d "' + b"x" * 120 + b'">]>'
BUILDS: dict[str, tuple[Callable[[], bytes], str]] = {
    "2 million elements in an offer": (lambda: HEAD + OFFER + b"<a/>" * 1_900_000 + b"</offer>" + TAIL, "50,000"),
    "deep and wide": (lambda: HEAD + OFFER + (b"<a>" * 50 + b"</a>" * 50) * 5000 + b"</offer>" + TAIL, "50,000"),
    "4 million elements in the head": (
        lambda: YML + b"<shop>" + b"<a/>" * 4_000_000 + HEAD.removeprefix(YML + b"<shop>") + OFFER + b"</offer>" + TAIL,
        "100,000",
    ),
    "400,000 categories": (
        lambda: YML + b"<shop><categories>" + numbered(b'<category id="%d">a</category>', 400_000)
        + b"</categories><offers>" + OFFER + b"</offer>" + TAIL, "100,000",
    ),
    "380,000 attributes": (
        lambda: HEAD + OFFER + b"<a " + numbered(b'b%d="" ', 380_000) + b"/></offer>" + TAIL, "One tag has more",
    ),
    "100,000 namespaces": (
        lambda: HEAD + OFFER + b"<a " + numbered(b'xmlns:b%d="u" ', 100_000) + b"/></offer>" + TAIL, "One tag has more",
    ),
    "names of 60,000 characters": (
        lambda: HEAD + OFFER + numbered(b"<" + b"n" * 60_000 + b"%d/>", 120) + b"</offer>" + TAIL, "together",
    ),
    "a namespace of 200,000 characters": (
        lambda: HEAD + OFFER + b'<x xmlns="' + b"u" * 200_000 + b'">' + numbered(b"<b%d/>", 4000) + b"</x></offer>"
        + TAIL, "namespace",
    ),
    "a text of an id": (
        lambda: b'<rss xmlns:g="http://base.google.com/ns/1.0"><channel><item><g:id>' + b"&lt;" * 1_900_000
        + b"</g:id></item></channel></rss>", "One id",
    ),
    "entities in a text": (
        lambda: ENTITY + HEAD + OFFER + b"<description>" + b"&d;" * 2_000_000 + b"</description></offer>" + TAIL, "",
    ),
    "entities in an attribute": (
        lambda: ENTITY + HEAD + OFFER + b'<param name="' + b"&d;" * 170_000 + b'">x</param></offer>' + TAIL, "",
    ),
    "entities in attributes": (
        lambda: ENTITY + HEAD + (OFFER + b'<param name="' + b"&d;" * 80_000 + b'">x</param></offer>') * 20 + TAIL, "",
    ),
    "a million declarations": (
        lambda: b"<!DOCTYPE yml_catalog [" + numbered(b'<!ENTITY e%d "x">', 500_000) + b"]>" + HEAD + TAIL, "65,536",
    ),
    "a deep content model": (
        lambda: b"<!DOCTYPE yml_catalog [<!ELEMENT a " + b"(a," * 400_000 + b"a" + b")" * 400_000 + b">]>" + HEAD,
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BUILDS)
def test_what_costs_more_than_its_bytes_is_refused(tmp_path: Path, kind: str) -> None:
    build, words = BUILDS[kind]
    (tmp_path / "feed").write_bytes(build())
    measured = measure(tmp_path / "feed")
    assert measured.outcome in {"UNSAFE_XML", "MALFORMED_XML"}, measured
    assert words in measured.message
    assert measured.growth_mib <= 64, measured
    assert measured.cpu_s <= 20, measured


def test_a_head_is_released_with_the_first_offer_behind_it(tmp_path: Path) -> None:
    """Otherwise each list of offers, with the content before it, would stay in memory to the end."""
    part = b"<a/>" * 900 + b'<offers><offer id="%d"/></offers>'
    (tmp_path / "feed").write_bytes(b"<yml_catalog><shop>" + numbered(part, 4000) + b"</shop></yml_catalog>")
    measured = measure(tmp_path / "feed")
    assert measured.outcome == "OK:4000", measured
    assert measured.growth_mib <= 64, measured


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in {"yml", "native"} else pytest.param(name, marks=in_campaigns) for name in SHELLS]
)
def test_memory_is_flat_over_many_offers(tmp_path: Path, name: str) -> None:
    shell = SHELLS[name]
    end = shell.tail[: shell.tail.index(b">") + 1]
    path = tmp_path / "feed"
    block = b"".join(shell.offer % number + 3 * shell.child + b"<name>n</name>" + end for number in range(10_000))
    with path.open("wb") as file:
        file.write(shell.head)
        blocks = 20 if IS_LONG else 5
        for _ in range(blocks):
            file.write(block)
        file.write(shell.tail.removeprefix(end))
    assert probe(path, limit_mib=100) == f"OK:{blocks * 10_000}"
