"""The page of benchmarks has a section with figures for every benchmark."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

_PAGE = ROOT / "docs" / "benchmarks.md"


def test_every_benchmark_has_its_dated_section_with_a_table() -> None:
    benches = {folder.parent.name for folder in (ROOT / "bench").glob("*/__main__.py")}
    sections = re.split(r"^## ", _PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    headings = [re.match(r".+ \(`make bench-(\w+)`\), \d{4}-\d{2}-\d{2}\n", section) for section in sections]
    described = {
        heading[1] for heading, section in zip(headings, sections, strict=True) if heading and "\n| --- |" in section
    }
    assert described == benches
    assert benches
