"""Every real feed is recognised or refused by its content, has the count of an independent reader, and never raises."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import cast

import pytest
from lxml import etree

from classifeed.feeds.v1 import offer_requests_pb2
from classifeed.feeds.v1.load_pb2 import ISSUE_LEVEL_ERROR as ERROR
from classifeed_feeds.faults import FeedFault

from ..conftest import Load, Scan

DUPLICATE = offer_requests_pb2.RECORD_KIND_DUPLICATE
NAMELESS = offer_requests_pb2.RECORD_KIND_UNIDENTIFIED


def manifest(folder: Path) -> dict[str, int]:
    """Return the number of offers by file name, from the manifest."""
    rows = [line.split(" | ") for line in (folder / "MANIFEST.md").read_text().splitlines() if line.startswith("| ")]
    return {row[0].strip("| "): int(row[5].replace(",", "")) for row in rows if len(row) > 10 and row[5][0].isdigit()}


G = "{http://base.google.com/ns/1.0}"
ATOM = "{http://www.w3.org/2005/Atom}"
# Result of each file of the manifest: its format, or the code of the fault.
UNKNOWN = "UNKNOWN_FORMAT"
FOUND = {
    **dict.fromkeys(
        ("facebook_rss_products.xml", "facebook_rss_sample.xml", "google_rss_dantone.xml",
         "google_rss_dantone_gz_named.xml", "google_rss_shopware.xml", "rss_plain_oneofakind.xml"),
        "google_rss",
    ),
    "atom_sample.xml": "google_atom",
    "torg_price_autoru_bad.xml": "MALFORMED_XML",
    **dict.fromkeys(
        ("autoru_used_cars_part1.xml", "avito_commercial_realty.xml", "avito_kolchuga_nodecl.xml",
         "avito_kolchuga_nodecl.zip", "avito_tiny.xml", "cian_commercial.xml", "cian_tiny.xml", "daft_ie.xml",
         "facebook_products_old.csv", "facebook_property.csv", "facebook_vehicles.csv", "idealista_properties.json",
         "is24.csv", "kyero_athena.xml", "kyero_openestate.xml", "merchant_cj_2mb.csv", "merchant_gmc_part1.tsv",
         "openimmo_127.xml", "rightmove_blm.blm",
         "trovit_openestate.xml", "yrl_direct_min.xml", "yrl_flats.xml", "yrl_incorrect_older.xml",
         "yrl_valid_min.xml"), UNKNOWN,
    ),
    **dict.fromkeys(
        ("torg_price_custom.xml", "yml_aliexpress_small.xml", "yml_autoparts.xml", "yml_cassiopeia_fixed.xml",
         "yml_leroy.xml", "yml_motorland.xml", "yml_raw_akcent_comments.yml", "yml_raw_vtt_comments.yml",
         "yml_simple_bad_values.xml", "yml_simplified.xml", "yml_stock_only_227.xml", "yml_stolica.xml",
         "yml_tehnogarant.yml", "yml_vtt_cp1251.yml", "yml_vtt_cp1251.yml.gz", "yml_wheels_2011.xml"), "yml",
    ),
}  # fmt: skip
OFFERS = {"yml": "shop/offers/offer", "google_rss": "channel/item", "google_atom": f"{ATOM}entry"}


def independent_offers(path: Path) -> list[etree._Element]:
    parser = etree.XMLParser(load_dtd=False, no_network=True, resolve_entities=False, huge_tree=True)
    return etree.parse(path, parser).getroot().findall(OFFERS[FOUND[path.name]])


def independent_id(offer: etree._Element) -> str:
    return (offer.get("id") or offer.findtext(f"{G}id") or offer.findtext("id") or "").strip()


def loadable(folder: Path) -> list[str]:
    packed = ("google_rss_dantone_gz_named.xml", "yml_vtt_cp1251.yml.gz")
    return sorted(name for name, found in FOUND.items() if found in OFFERS and name not in packed)


def test_each_feed_is_what_it_is_and_counted_as_in_the_manifest(shared_feeds: Path, load: Load) -> None:
    counts = manifest(shared_feeds)
    assert set(counts) == set(FOUND)
    for name, offers in counts.items():
        if FOUND[name] in OFFERS:
            loaded = load(shared_feeds / name)
            assert (loaded.scan.format, loaded.scan.offer_count, len(loaded.records)) == (FOUND[name], offers, offers)
            continue
        with pytest.raises(FeedFault) as caught:
            load(shared_feeds / name)
        assert caught.value.code == FOUND[name], name
        if FOUND[name] == UNKNOWN:
            assert "classifeed feed formats" in caught.value.message, name
            assert "yml_catalog" in caught.value.message, name


# Number of rejected offers by code, for the files that have any; the other loaded files have none.
REFUSED = {
    "google_rss_dantone.xml": {"TITLE_MISSING": 112},
    "google_rss_dantone_gz_named.xml": {"TITLE_MISSING": 112},
    "torg_price_custom.xml": {"PRICE_INVALID": 5},
    "yml_autoparts.xml": {"DUPLICATE_ID": 63},
    "yml_simple_bad_values.xml": {
        "PRICE_INVALID": 1, "CURRENCY_UNKNOWN": 1, "DUPLICATE_ID": 1, "ID_MISSING": 1, "TITLE_MISSING": 1,
    },
}  # fmt: skip


def test_no_offer_is_refused_that_a_marketplace_would_take(shared_feeds: Path, load: Load) -> None:
    for name in (name for name, found in FOUND.items() if found in OFFERS):
        loaded = load(shared_feeds / name, patch="stock_only" in name)
        errors = (error for record in loaded.records for error in record.errors if error.level == ERROR)
        assert Counter(error.code for error in errors) == REFUSED.get(name, {}), name


def test_other_formats_of_the_shared_feeds_are_called_by_their_names(shared_feeds: Path, scan: Scan) -> None:
    names = {"avito_": "Avito", "cian_": "CIAN", "yrl_": "Yandex Realty", "autoru_used": "auto.ru", "kyero": "Kyero",
             "trovit": "Trovit", "openimmo": "OpenImmo", "daft": "Daft.ie", "facebook_": "a table (CSV",
             "merchant_cj": "a table (CSV", "merchant_gmc": "a table (TSV", "is24": "a table (CSV"}  # fmt: skip
    for path in sorted(shared_feeds.iterdir()):
        known = next((words for start, words in names.items() if path.name.startswith(start)), "")
        if known and FOUND.get(path.name) == UNKNOWN:
            with pytest.raises(FeedFault) as caught:
                scan(path)
            assert known in caught.value.reason, path.name
            assert "annot be loaded yet" in caught.value.reason


def test_the_malformed_one_says_where_and_why(shared_feeds: Path, scan: Scan) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(shared_feeds / "torg_price_autoru_bad.xml")
    fault = caught.value
    assert (fault.code, fault.line, fault.column) == ("MALFORMED_XML", 81, 7)
    assert "<ofer>, which was opened on line 65" in fault.message


def test_ids_lines_and_duplicates_agree_with_an_independent_reader(shared_feeds: Path, load: Load) -> None:
    for name in loadable(shared_feeds):
        loaded = load(shared_feeds / name)
        seen: dict[str, int] = {}
        for record, element in zip(loaded.records, independent_offers(shared_feeds / name), strict=True):
            line = cast("int", element.sourceline)  # of which the stubs do not know the type
            assert record.line == line, name
            external_id = independent_id(element)
            if not external_id:
                assert record.kind == NAMELESS
            elif external_id in seen:
                assert record.kind == DUPLICATE
                assert record.errors[0].external_id == external_id
                assert f"line {seen[external_id]} " in record.errors[0].message
            else:
                assert record.external_id == external_id
                seen[external_id] = line


def test_every_issue_lies_on_the_line_of_what_it_is_about(shared_feeds: Path, load: Load) -> None:
    found = 0
    for name in loadable(shared_feeds):
        lines = (shared_feeds / name).read_bytes().split(b"\n")
        for record in load(shared_feeds / name).records:
            for issue in (issue for issue in record.errors if issue.error_id):
                found += 1
                tag = issue.path.rpartition("/")[2].partition("[")[0]
                tag = "offer" if tag.startswith("@") else tag
                start = lines[issue.line - 1].decode("utf-8", "replace")[issue.column - 1 :]
                assert start.startswith(f"<{tag}"), (name, issue)
    assert found > 300


def test_texts_of_product_data_are_those_of_an_independent_reader(shared_feeds: Path, load: Load) -> None:
    texts = 0
    for name in loadable(shared_feeds):
        if FOUND[name] == "yml":
            continue
        records = load(shared_feeds / name).records
        for record, element in zip(records, independent_offers(shared_feeds / name), strict=True):
            for field in ("title", "description"):
                text = element.findtext(f"{G}{field}") or element.findtext(field) or ""
                said = " ".join(text.split()) if field == "title" else text.strip()
                # A title that consists of a dot.
                said = "" if said == "." else said
                assert getattr(record.content, field) == said, (name, record.external_id)
                texts += bool(said)
            amount, currency = (element.findtext(f"{G}price") or element.findtext("price") or "").split()
            price = record.content.old_price if record.content.HasField("old_price") else record.content.price
            assert price.amount_micros == round(float(amount.replace(",", ".")) * 10**6)
            assert price.currency_code == currency
            assert record.content.vendor == (element.findtext(f"{G}brand") or element.findtext("brand") or "").strip()
    assert texts > 650


def test_windows_1251_comes_out_as_iconv_has_it(shared_feeds: Path, load: Load, tmp_path: Path) -> None:
    iconv = shutil.which("iconv")
    if iconv is None:
        pytest.skip("iconv is not installed")
    source = shared_feeds / "yml_vtt_cp1251.yml"
    text = subprocess.run(
        [iconv, "-f", "cp1251", "-t", "utf-8", source], capture_output=True, check=True
    ).stdout.decode()
    titles = [name.strip() for name in re.findall(r"<offer .*?<name>(.*?)</name>", text, re.S)]
    loaded = load(source)
    expected = [" ".join((etree.fromstring(f"<a>{title}</a>").text or "").split()) for title in titles]
    assert [record.content.title for record in loaded.records] == expected
    assert not loaded.codes


def test_the_feed_of_bad_values_has_every_one_of_them_named(shared_feeds: Path, load: Load) -> None:
    loaded = load(shared_feeds / "yml_simple_bad_values.xml")
    assert [(error.code, error.external_id, error.line) for record in loaded.records for error in record.errors] == [
        ("PRICE_INVALID", "0", 17),
        ("OLD_PRICE_INVALID", "0", 18),
        ("CURRENCY_UNKNOWN", "0", 19),
        ("DUPLICATE_ID", "0", 23),
        ("ID_MISSING", "record:3", 33),
        ("TITLE_MISSING", "record:3", 33),
        ("PRICE_MISSING", "record:3", 33),
        ("OLD_PRICE_INVALID", "record:3", 38),
    ]


def test_damaged_copies_fail_in_words_or_load(shared_feeds: Path, load: Load, tmp_path: Path) -> None:
    chance = random.Random(20261121)
    outcomes: Counter[str] = Counter()
    for path in sorted(shared_feeds.glob("*.*")):
        data = path.read_bytes()[:60_000]
        for _ in range(6):
            damaged = bytearray(data)
            kind = chance.choice(["cut", "flip", "drop", "insert"])
            at = chance.randrange(len(damaged))
            if kind == "cut":
                del damaged[at:]
            elif kind == "flip":
                damaged[at] ^= 1 << chance.randrange(8)
            elif kind == "drop":
                del damaged[at : at + chance.randrange(1, 40)]
            else:
                damaged[at:at] = chance.choice([b"&", b"<", b"\x00", b"\xff", b"]]>", b"<!--", b"<offer>"])
            try:
                load(bytes(damaged))
                outcomes["loaded"] += 1
            except FeedFault as fault:
                assert fault.message
                outcomes[fault.code] += 1
    assert outcomes["MALFORMED_XML"] > 20
    assert outcomes["loaded"] > 5
