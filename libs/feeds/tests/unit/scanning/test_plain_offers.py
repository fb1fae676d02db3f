"""Offers read by a pattern: exactly the result of the parser and the schema, or none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from classifeed.feeds.v1 import load_pb2
from classifeed_feeds import second_pass
from classifeed_feeds.batches import RunAddress
from classifeed_feeds.formats.registry import FORMATS
from classifeed_feeds.formats.yml.schema import PLAIN, SCHEMA
from classifeed_feeds.scanning.elements import FeedOffer
from classifeed_feeds.scanning.plain_offers import PlainRules, read_plain
from classifeed_feeds.scanning.safe_parser import OfferParser
from classifeed_feeds.scanning.scan import FeedScan

from ...conftest import Scan, WriteOffer, WriteYml

ANYTHING = PlainRules(most_chars=1 << 30, limits={}, quantities=frozenset(), named=frozenset())
MODES = (load_pb2.LOAD_MODE_REPLACE, load_pb2.LOAD_MODE_PATCH)


def batches(scan: FeedScan, mode: load_pb2.LoadMode = load_pb2.LOAD_MODE_REPLACE) -> list[bytes]:
    return [batch.value for batch in second_pass.read_batches(scan, RunAddress("shop", "default", 7, 1, mode))]


def content_of(offer: FeedOffer, names: tuple[str, ...]) -> list[tuple[str, str, tuple[str | None, ...]]]:
    return [(str(child.tag), child.text or "", tuple(child.get(name) for name in names)) for child in offer]


# Pieces of which sources of elements are made: common ones, unusual ones, and some that only a parser can read.
TEXTS = st.lists(
    st.sampled_from(
        ["a", "Ж", "12", " ", "\n", "\r\n", "\r", "\t", ">", '"', "'", "&amp;", "&lt;", "&gt;", "&quot;", "&apos;",
         "&#10;", "&#13;", "&#x416;", "&amp;lt;", "<![CDATA[<b>&amp;</b>]]>", "<![CDATA[]]>", "<![CDATA[a]]]]>",
         "<![CDATA[<!--]]>", "<!-- x -->", "<?x y?>", "<b>c</b>", "<b/>", "\u00a0", "\u2028"]
    ),
    max_size=4,
).map("".join)  # fmt: skip
VALUES = st.lists(
    st.sampled_from(["a", "Ж", " ", "\n", "\t", "\r\n", ">", "'", "=", "&lt;", "&#10;", "&#9;", "&quot;", "/"]),
    max_size=3,
).map("".join)
NAMES = ("name", "unit", "xml-id", "имя")
ATTRIBUTES = st.lists(
    st.tuples(
        st.sampled_from([" ", "\n", "\t ", "\r\n"]),
        st.sampled_from(NAMES),
        VALUES,
        st.sampled_from(['{}{}="{}"', "{}{}='{}'", '{}{} = "{}"']),
    ),
    max_size=2,
    unique_by=lambda each: each[1],
).map(lambda each: "".join(form.format(blank, name, value.replace("'", "&apos;")) for blank, name, value, form in each))
ELEMENTS = st.builds(
    lambda tag, attributes, text, blank: f"<{tag}{attributes}{blank}>{text}</{tag}{blank}>",
    st.sampled_from(["a", "param", "цена", "b-c", "d.e"]),
    ATTRIBUTES,
    TEXTS,
    st.sampled_from(["", " ", "\n"]),
)
OFFERS = st.builds(
    lambda attributes, parts: f"<offer{attributes}>{''.join(parts)}</offer>",
    ATTRIBUTES,
    st.lists(st.one_of(ELEMENTS, TEXTS), max_size=5),
)


@settings(max_examples=300, deadline=None)
@given(OFFERS)
def test_the_pattern_reads_what_the_parser_reads(source: str) -> None:
    plain = read_plain(source, ANYTHING)
    if plain is None:
        return
    parsed = OfferParser("utf-8").parse(source.encode())
    assert content_of(plain, NAMES) == content_of(parsed, NAMES)
    assert [plain.get(name) for name in NAMES] == [parsed.get(name) for name in NAMES]
    assert len(plain) == len(parsed)


TAGS = st.one_of(
    st.sampled_from(sorted({"price", "url", *PLAIN.quantities, *PLAIN.named})),
    st.sampled_from([*sorted(SCHEMA.known_tags), "unlisted"]),
)
LONG = [0, 1, 511, 512, 513, 4_095, 4_096, 4_097, 16_384, 16_385]
VALUES_OF_TEXT = st.one_of(
    st.sampled_from(["", "0", "12", "-3", "1.0", "1.50", "  7 ", "+1", "9" * 12, "9" * 13, "many", "١٢"]),
    st.builds(lambda char, count: char * count, st.sampled_from(["x", " ", "Ж"]), st.sampled_from(LONG)),
)
PARAM_NAMES = st.one_of(
    st.just(""),
    st.builds(lambda char, count: f' name="{char * count}"', st.sampled_from(["x", " "]), st.sampled_from(LONG[:5])),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.large_base_example])
@given(st.lists(st.tuples(TAGS, PARAM_NAMES, VALUES_OF_TEXT), max_size=4))
def test_what_the_rules_accept_the_schema_accepts(rows: list[tuple[str, str, str]]) -> None:
    if PLAIN.accept(rows):
        source = "".join(f"<{tag}{attributes}>{text}</{tag}>" for tag, attributes, text in rows)
        schema = SCHEMA.compile(tag for tag, _, _ in rows)
        assert schema.validate(etree.fromstring(f"<offer>{source}</offer>")), schema.error_log


def test_every_real_feed_gives_the_same_batches_either_way(shared_feeds: Path, scan: Scan) -> None:
    seen = 0
    for path in sorted(shared_feeds.glob("*yml*")):
        scanned = scan(path)
        if scanned.format != "yml":
            continue
        assert scanned.is_self_contained
        for mode in MODES:
            assert batches(scanned, mode) == batches(replace(scanned, is_self_contained=False), mode), path.name
        seen += scanned.offer_count
    assert seen > 10_000


def test_nearly_all_offers_of_real_shops_need_no_parser(
    shared_feeds: Path, scan: Scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = 0
    parse = OfferParser.parse

    def count(parser: OfferParser, source: bytes) -> etree._Element:
        nonlocal parsed
        parsed += 1
        return parse(parser, source)

    monkeypatch.setattr(OfferParser, "parse", count)
    offers = 0
    for name in ("yml_vtt_cp1251.yml", "yml_raw_vtt_comments.yml", "yml_wheels_2011.xml", "yml_stock_only_227.xml"):
        scanned = scan(shared_feeds / name)
        batches(scanned)
        offers += scanned.offer_count
    # All of the last one have outlets, which are elements in an element.
    assert (offers, parsed) == (8_134, 227)


@pytest.mark.parametrize("found", FORMATS, ids=lambda found: found.name)
def test_samples_give_the_same_batches_either_way(scan: Scan, found: object) -> None:
    content = found.read_file(found.sample)  # type: ignore[attr-defined]
    scanned = scan(content)
    assert batches(scanned) == batches(replace(scanned, is_self_contained=False))


def test_flaws_have_the_same_places_either_way(scan: Scan, yml: WriteYml, offer: WriteOffer) -> None:
    """Two identical picture elements are different elements, and each issue has its own line."""
    flawed = offer(
        "a", extra="<picture>kettle.jpg</picture>\n\n<picture>kettle.jpg</picture>\n<lat>91</lat><lon>0</lon>"
    )
    unreadable = offer("b", extra="<!-- not plain -->\n<price>many</price>\n<count>few</count>")
    scanned = scan(yml(flawed, unreadable, offer("c", extra="<oldprice>12..50</oldprice>")))
    assert batches(scanned) == batches(replace(scanned, is_self_contained=False))


@pytest.mark.parametrize(
    ("prolog", "root"),
    [
        ('<!DOCTYPE yml_catalog [<!ENTITY shop "Ваза">]>', ""),
        ("<!DOCTYPE yml_catalog [<!ELEMENT a ANY>]>", ""),
        ("", ' xmlns:g="https://shop.example/feed"'),
        ("", ' xml:lang="ru"'),
    ],
)
def test_what_is_declared_elsewhere_in_a_file_takes_a_parser(
    scan: Scan, yml: WriteYml, offer: WriteOffer, prolog: str, root: str
) -> None:
    content = yml(offer("a"), prolog=prolog)
    assert scan(content).is_self_contained is (not prolog)
    assert not scan(content.replace(b"<yml_catalog>", f"<yml_catalog{root}>".encode(), 1)).is_self_contained
