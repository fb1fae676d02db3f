"""A file that is not well-formed, not safe or not complete fails before any offer is sent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from classifeed.feeds.v1 import load_pb2
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.registry import FORMATS, format_named
from classifeed_feeds.scanning.scan import require_mode
from classifeed_feeds.source.limits import Limits

from ..conftest import Load, Scan, WriteOffer, WriteYml


def fault_of(scan: Scan, content: bytes, *args: Limits) -> FeedFault:
    with pytest.raises(FeedFault) as caught:
        scan(content, *args)
    return caught.value


def test_a_lone_ampersand_is_named_with_its_place(scan: Scan, yml: WriteYml, offer: WriteOffer) -> None:
    feed = yml(offer("a"), offer("b", name="Чай & кофе"))
    fault = fault_of(scan, feed)
    lines = feed.decode().split("\n")
    line = next(number for number, text in enumerate(lines, 1) if "Чай & кофе" in text)
    assert (fault.code, fault.line) == ("MALFORMED_XML", line)
    # expat's position is at the & or after it, in characters and not in bytes.
    assert abs(fault.column - (lines[line - 1].index("&") + 1)) <= 1
    assert "&amp;" in fault.message


def test_a_mismatched_tag_names_both_lines(scan: Scan) -> None:
    fault = fault_of(scan, b"<yml_catalog>\n<shop>\n<ofer>\n</offer></shop></yml_catalog>")
    assert (fault.code, fault.line) == ("MALFORMED_XML", 4)
    assert "</offer>" in fault.message
    assert "<ofer>, which was opened on line 3" in fault.message


def test_a_truncated_file_is_reported_as_cut_off(scan: Scan, yml: WriteYml, offer: WriteOffer) -> None:
    feed = yml(*(offer(f"a{n}") for n in range(50)))
    for share in (0.3, 0.6, 0.99):
        fault = fault_of(scan, feed[: int(len(feed) * share)])
        assert fault.code in {"MALFORMED_XML", "ENCODING_WRONG"}
        assert fault.line > 0
    assert "cut off" in fault_of(scan, feed[: feed.rindex(b"</offer>")]).message


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ("<name>a < b</name>", "&lt;"),
        ("<name>a\x01b</name>", "control character"),
        ("<name>&nbsp;</name>", "&nbsp;"),
        ('<name a="1" a="2"/>', "twice"),
        ("<g:name>x</g:name>", "prefix"),
    ],
)
def test_common_faults_have_words(scan: Scan, yml: WriteYml, inside: str, words: str) -> None:
    fault = fault_of(scan, yml(f'<offer id="a">{inside}</offer>'))
    assert fault.code == "MALFORMED_XML"
    assert fault.line == 7
    assert words in fault.message


@pytest.mark.parametrize(
    "inside", ['<x xml:id="7"/>', '<x xmlns:p=""/>', '<x xmlns:p="%%"/>', '<x xml:id="a"/><x xml:id="a"/>']
)
def test_what_only_libxml2_refuses_fails_in_the_first_pass_too(scan: Scan, yml: WriteYml, inside: str) -> None:
    """Otherwise it would stop the second pass after half of the offers were sent."""
    assert fault_of(scan, yml(f'<offer id="a">{inside}</offer>')).code == "MALFORMED_XML"


DOCTYPE = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE yml_catalog '


def test_a_doctype_is_accepted_and_its_dtd_is_never_fetched(
    load: Load, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    (tmp_path / "shops.dtd").write_text("<!ENTITY % broken")
    loaded = load(yml(offer("a"), prolog=DOCTYPE + f'SYSTEM "{tmp_path}/shops.dtd">\n'))
    assert [record.content.title for record in loaded.records] == ["Чайник"]


def test_an_entity_of_the_file_itself_is_read(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    prolog = DOCTYPE + '[<!ENTITY shop "Чайная">]>\n'
    assert load(yml(offer("a", name="&shop; №1"), prolog=prolog)).records[0].content.title == "Чайная №1"


each_format = pytest.mark.parametrize("found", FORMATS, ids=lambda found: found.name)


def with_entities(found: Format, subset: str, text: str) -> bytes:
    """Return the sample of a format with a document type, and with a text in its last title."""
    declaration, _, rest = found.read_file(found.sample).decode().partition("\n")
    title = f"<{found.names.title}>"
    root = min(found.roots).rpartition(" ")[2]
    return f"{declaration}\n<!DOCTYPE {root} [{subset}]>\n{(title + text).join(rest.rsplit(title, 1))}".encode()


@each_format
def test_an_entity_of_the_file_itself_is_read_in_every_format(load: Load, found: Format) -> None:
    loaded = load(with_entities(found, '<!ENTITY shop "Tea & more">'.replace("&", "&#38;#38;"), "&shop; "))
    assert "Tea & more " in {record.content.title[:11] for record in loaded.records}


@each_format
@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY x SYSTEM "file:///etc/hostname">',
        '<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;',
        '<!ENTITY x PUBLIC "a" "http://127.0.0.1:9/x">',
    ],
)
def test_entities_that_point_outside_are_refused(scan: Scan, found: Format, subset: str) -> None:
    assert fault_of(scan, with_entities(found, subset, "&x;")).code == "UNSAFE_XML"


@each_format
def test_a_billion_laughs_are_refused(scan: Scan, found: Format) -> None:
    entities = '<!ENTITY a0 "' + "ha" * 50 + '">'
    entities += "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    assert fault_of(scan, with_entities(found, entities, "&a9;")).code == "UNSAFE_XML"


@each_format
@pytest.mark.parametrize(
    ("subset", "words"),
    [
        ('<!ENTITY % p "<!ENTITY x &#39;y&#39;>"> %p;', "for declarations"),
        ('<!ENTITY x "<a/>">', "holds elements"),
        ('<!ENTITY x "&#60;a/&#62;">', "holds elements"),
        ('<!ENTITY y "z"><!ENTITY x "&y;">', "other entities"),
        (f'<!ENTITY x "{"я" * 65}">', "more than 128 bytes"),
        ('<!NOTATION n SYSTEM "n"><!ENTITY x SYSTEM "y" NDATA n>', "outside of the file"),
        ('<!ATTLIST offer x CDATA "y">', "default value"),
        ('<!ATTLIST offer x CDATA #FIXED "y">', "default value"),
    ],
)
def test_declarations_that_grow_are_refused(scan: Scan, found: Format, subset: str, words: str) -> None:
    fault = fault_of(scan, b"\n\n" + with_entities(found, subset, "&x;"))
    assert (fault.code, fault.line) == ("UNSAFE_XML", 4)
    assert words in fault.message


def test_harmless_declarations_are_read(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    subset = (
        '<!ENTITY nbsp "&#160;"><!ENTITY lt "&#38;#60;"><!ENTITY % x ""><!ELEMENT offer ANY>'
        "<!ATTLIST offer id CDATA #IMPLIED group_id CDATA #REQUIRED kind (a|b) #IMPLIED>"
    ).replace('<!ENTITY % x "">', "")
    loaded = load(yml(offer("a", name="Чай&nbsp;&lt;5"), prolog=DOCTYPE + f"[{subset}]>"))
    assert [record.content.title for record in loaded.records] == ["Чай <5"]


def test_an_offer_that_entities_make_too_large_is_refused_alone(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    """A message must not grow with a long text in the file."""
    prolog = DOCTYPE + f'[<!ENTITY d "{"x" * 128}">]>\n'
    padding = offer("c", extra=f"<!-- {'x' * 400_000} -->")
    loaded = load(
        yml(offer("a", description="&d;" * 2500), offer("b", description="&d; " * 10), padding, prolog=prolog)
    )
    assert loaded.codes[0] == ("a", "OFFER_TOO_LARGE")
    assert [len(record.content.description) for record in loaded.records] == [0, 1289, 0]


@pytest.mark.parametrize("start", ["<other>", *(f"{each.name}" for each in FORMATS)])
def test_deep_nesting_is_refused(scan: Scan, start: str) -> None:
    if start != "<other>":
        found = format_named(start)
        sample = found.read_file(found.sample).decode()
        start = sample[: sample.index(">", sample.index(f"<{found.names.offer}")) + 1]
    assert fault_of(scan, start.encode() + b"<a>" * 5_000_000).code == "UNSAFE_XML"


@each_format
def test_a_sample_that_is_cut_off_is_no_feed(scan: Scan, found: Format) -> None:
    content = found.read_file(found.sample)
    for share in (0.3, 0.6, 0.97):
        fault = fault_of(scan, content[: int(len(content) * share)])
        assert fault.code in {"MALFORMED_XML", "ENCODING_WRONG"}
        assert fault.line > 1


def test_a_file_of_prices_and_stock_is_for_patches_only(scan: Scan) -> None:
    offers = '<offer id="1"><price>5</price><outlets><outlet instock="2"/></outlets></offer>'
    scanned = scan(f"<yml_catalog><shop><offers>{offers}</offers></shop></yml_catalog>".encode())
    require_mode(scanned, load_pb2.LOAD_MODE_PATCH)
    with pytest.raises(FeedFault) as caught:
        require_mode(scanned, load_pb2.LOAD_MODE_REPLACE)
    assert caught.value.code == "STOCK_ONLY"
    assert "PATCH" in caught.value.message


def test_categories_and_currencies_are_read_wherever_they_stand(load: Load) -> None:
    feed = """<yml_catalog><shop><offers><offer id="1"><name>a</name><price>5</price><categoryId>2</categoryId></offer>
    </offers><currencies><currency id="RUR" rate="1"/></currencies>
    <categories><category id="1"><![CDATA[ Дом ]]></category><category id="2" parent_id="1">Сад</category></categories>
    </shop></yml_catalog>"""
    (record,) = load(feed.encode()).records
    assert list(record.content.category_path) == ["Дом", "Сад"]
    assert record.content.price.currency_code == "RUB"


def test_unknown_tags_are_one_warning_for_the_file(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    loaded = load(
        yml(offer("a", extra="<zz>1</zz><yy/>"), offer("b", extra="<zz>2</zz>"), offer("c", extra="<zz/>", price="x"))
    )
    assert loaded.scan.warnings == ("Tags that YML does not know were left out: <yy> (once), <zz> (3 times).",)
    # An unknown tag does not hide a wrong value after it.
    assert loaded.codes == [("c", "PRICE_INVALID")]


@each_format
@pytest.mark.parametrize("before", ["", "\n\n"])
def test_offers_with_a_misspelt_tag_are_a_fault_and_no_empty_feed(scan: Scan, found: Format, before: str) -> None:
    sample = found.read_file(found.sample).decode()
    tag = found.names.offer
    opening = re.compile(rf"(</?){tag}\b")
    first = opening.search(sample)
    assert first is not None
    line = before.count("\n") + sample[: first.start()].count("\n") + 1
    for wrong in (tag.capitalize(), "product"):
        fault = fault_of(scan, (before + opening.sub(rf"\g<1>{wrong}", sample)).encode())
        assert (fault.code, fault.line) == ("STRUCTURE_WRONG", line)
        assert f"holds <{wrong}> and no <{tag}>" in fault.message


@each_format
def test_tags_beside_the_offers_are_one_warning_for_the_file(load: Load, found: Format) -> None:
    sample = found.read_file(found.sample).decode()
    tag = found.names.offer
    whole = load(sample.encode())
    assert not any("no offers" in warning for warning in whole.scan.warnings)
    first = re.search(rf"<{tag}\b", sample)
    assert first is not None
    at = first.start()
    line = sample[:at].count("\n") + 1
    strays = f'<ofer id="1"><{tag}/></ofer>\n<ofer/><{tag.upper()}/>\n'
    loaded = load((sample[:at] + strays + sample[at:]).encode())
    assert len(loaded.records) == len(whole.records)
    assert (
        "Tags among the offers that are not offers were left out: "
        f"<ofer> (2, first on line {line}), <{tag.upper()}> (1, first on line {line + 1})."
    ) in loaded.scan.warnings


def test_of_many_tags_beside_the_offers_the_first_are_named(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    warning = load(yml(*(f"<z{n}/>" for n in range(23)), offer("a"), "<z1/>")).scan.warnings[-1]
    assert "<z1> (2, first on line 8)" in warning
    assert warning.endswith("<z19> (1, first on line 26) and 3 more elements.")


def test_an_offer_in_a_foreign_namespace_is_distinguished_from_an_offer(scan: Scan, yml: WriteYml) -> None:
    assert '<offer xmlns="urn:x"> and no <offer>' in fault_of(scan, yml('<offer xmlns="urn:x" id="1"/>')).message


def test_a_feed_without_offers_is_a_warning(scan: Scan, yml: WriteYml) -> None:
    assert scan(yml()).warnings == ("The file has no offers.",)
