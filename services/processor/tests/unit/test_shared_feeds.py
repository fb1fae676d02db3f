"""Every real feed: known or refused from its content, counted as an independent reader counts, never an exception."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from lxml import etree

from classifeed.feeds.v1 import offer_requests_pb2
from classifeed_processor.domain.faults import FeedFault

DUPLICATE = offer_requests_pb2.RECORD_KIND_DUPLICATE
NAMELESS = offer_requests_pb2.RECORD_KIND_UNIDENTIFIED


def manifest(folder: Path) -> dict[str, int]:
    """Offers by file name, as the manifest counts them."""
    rows = [line.split(" | ") for line in (folder / "MANIFEST.md").read_text().splitlines() if line.startswith("| ")]
    return {row[0].strip("| "): int(row[5].replace(",", "")) for row in rows if len(row) > 10 and row[5][0].isdigit()}


def independent_offers(path: Path) -> list[etree._Element]:
    parser = etree.XMLParser(load_dtd=False, no_network=True, resolve_entities=False, huge_tree=True)
    return etree.parse(path, parser).getroot().findall("shop/offers/offer")


def test_each_feed_is_counted_as_in_the_manifest(shared_feeds, load):
    counts = manifest(shared_feeds)
    assert len(counts) >= 48
    formats: Counter[str] = Counter()
    for name, offers in counts.items():
        try:
            loaded = load(shared_feeds / name)
        except FeedFault as fault:
            assert not name.startswith("yml_"), f"{name}: {fault}"
            assert fault.code == ("MALFORMED_XML" if name == "torg_price_autoru_bad.xml" else "UNKNOWN_FORMAT"), name
            formats[fault.code] += 1
            continue
        assert name.startswith("yml_"), name
        formats["yml"] += 1
        assert (loaded.scan.offer_count, len(loaded.records)) == (offers, offers), name
    assert formats["yml"] == 15


def test_the_malformed_one_says_where_and_why(shared_feeds, scan):
    with pytest.raises(FeedFault) as caught:
        scan(shared_feeds / "torg_price_autoru_bad.xml")
    fault = caught.value
    assert (fault.code, fault.line, fault.column) == ("MALFORMED_XML", 81, 7)
    assert "<ofer>, which was opened on line 65" in fault.message


def yml_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("yml_*") if not path.name.endswith(".gz"))


def test_ids_lines_and_duplicates_agree_with_an_independent_reader(shared_feeds, load):
    for name in yml_names(shared_feeds):
        loaded = load(shared_feeds / name)
        seen: dict[str, int] = {}
        for record, element in zip(loaded.records, independent_offers(shared_feeds / name), strict=True):
            assert record.line == element.sourceline, name
            external_id = (element.get("id") or "").strip()
            if not external_id:
                assert record.kind == NAMELESS
            elif external_id in seen:
                assert record.kind == DUPLICATE
                assert record.errors[0].external_id == external_id
                assert f"line {seen[external_id]} " in record.errors[0].message
            else:
                assert record.external_id == external_id
                seen[external_id] = element.sourceline


def test_every_issue_lies_on_the_line_of_what_it_is_about(shared_feeds, load):
    found = 0
    for name in yml_names(shared_feeds):
        lines = (shared_feeds / name).read_bytes().split(b"\n")
        for record in load(shared_feeds / name).records:
            for issue in record.errors:
                found += 1
                tag = issue.path.rpartition("/")[2].partition("[")[0]
                tag = "offer" if tag.startswith("@") else tag
                start = lines[issue.line - 1].decode("utf-8", "replace")[issue.column - 1 :]
                assert start.startswith(f"<{tag}"), (name, issue)
    assert found > 300


def test_windows_1251_comes_out_as_iconv_has_it(shared_feeds, load, tmp_path):
    iconv = shutil.which("iconv")
    if iconv is None:
        pytest.skip("iconv is not installed")
    source = shared_feeds / "yml_vtt_cp1251.yml"
    text = subprocess.run(
        [iconv, "-f", "cp1251", "-t", "utf-8", source], capture_output=True, check=True
    ).stdout.decode()
    titles = [name.strip() for name in re.findall(r"<offer .*?<name>(.*?)</name>", text, re.S)]
    loaded = load(source)
    expected = [" ".join(etree.fromstring(f"<a>{title}</a>").text.split()) for title in titles]
    assert [record.content.title for record in loaded.records] == expected
    assert not loaded.codes


def test_the_feed_of_bad_values_has_every_one_of_them_named(shared_feeds, load):
    loaded = load(shared_feeds / "yml_simple_bad_values.xml")
    assert [(error.code, error.external_id, error.line) for record in loaded.records for error in record.errors] == [
        ("PRICE_INVALID", "0", 17),
        ("OLD_PRICE_INVALID", "0", 18),
        ("CURRENCY_UNKNOWN", "0", 19),
        ("DUPLICATE_ID", "0", 23),
        ("ID_MISSING", "record:3", 33),
        ("OLD_PRICE_INVALID", "record:3", 38),
        ("TITLE_MISSING", "record:3", 33),
        ("PRICE_MISSING", "record:3", 33),
    ]


def test_damaged_copies_fail_in_words_or_load(shared_feeds, load, tmp_path):
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
