"""The registry of formats: each has texts, a sample that loads without issues, and an up-to-date page."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree
from tools.pages.schema_table import read_schema

from classifeed.feeds.v1 import format_pb2
from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.google.tags import KNOWN_TAGS
from classifeed_feeds.formats.google.tags import TABLE as GOOGLE_TABLE
from classifeed_feeds.formats.native import NATIVE
from classifeed_feeds.formats.native.schema import SCHEMA
from classifeed_feeds.formats.native.tags import TABLE as NATIVE_TABLE
from classifeed_feeds.formats.registry import FORMATS, find_format, format_named
from classifeed_feeds.scanning.shape import expat_name

from ...conftest import Load

SAMPLE, SCHEMA_FILE = format_pb2.FORMAT_FILE_KIND_SAMPLE, format_pb2.FORMAT_FILE_KIND_SCHEMA
DOCS = Path(__file__).parents[5] / "docs" / "reference" / "formats"
XS = "{http://www.w3.org/2001/XMLSchema}"
each_format = pytest.mark.parametrize("found", FORMATS, ids=lambda found: found.name)


@each_format
def test_the_sample_loads_without_a_word(load: Load, found: Format) -> None:
    loaded = load(found.read_file(found.sample))
    assert (loaded.scan.format, loaded.scan.warnings, loaded.codes) == (found.name, (), [])
    assert 3 <= len(loaded.records) <= 5
    for record in loaded.records:
        assert record.content.title
        assert record.content.price.amount_micros
        assert record.content.category_path or found.name.startswith("google")


@each_format
def test_roots_and_names_lead_to_the_format(found: Format) -> None:
    assert format_named(found.name) is found
    assert all(find_format(root) is found for root in found.roots)
    assert (find_format("no"), len({each.name for each in FORMATS})) == (None, len(FORMATS))


def test_every_declaration_of_our_schema_is_documented() -> None:
    schema = etree.fromstring(NATIVE.read_file(NATIVE.schema))
    for node in schema.iter(f"{XS}element", f"{XS}attribute", f"{XS}simpleType"):
        words = node.findtext(f"{XS}annotation/{XS}documentation") or ""
        assert words.strip() or node.get("ref"), etree.tostring(node)
    rows = read_schema(NATIVE.read_file(NATIVE.schema))
    declared = sum(1 for _ in schema.iter(f"{XS}element", f"{XS}attribute")) - 1  # the reference to offer
    assert len(rows) == declared
    assert all(row.occurs or row.path == "classifeed" for row in rows)
    page = (DOCS / "native.md").read_text()
    assert all(f"| `{row.path}` | {row.occurs} | {row.kind} | {row.words} |" in page for row in rows)


def test_all_that_our_schema_knows_is_read() -> None:
    assert set(SCHEMA.known_tags) == {*NATIVE_TABLE.single, *NATIVE_TABLE.special, *NATIVE_TABLE.picture}


def test_all_that_is_read_of_product_data_is_known() -> None:
    read = {*GOOGLE_TABLE.single, *GOOGLE_TABLE.special, *GOOGLE_TABLE.picture}
    assert {expat_name(tag) for tag in read} <= KNOWN_TAGS


def test_our_sample_fits_our_schema_as_a_whole() -> None:
    schema = etree.XMLSchema(etree.fromstring(NATIVE.read_file(NATIVE.schema)))
    assert schema.validate(etree.fromstring(NATIVE.read_file(NATIVE.sample))), schema.error_log
