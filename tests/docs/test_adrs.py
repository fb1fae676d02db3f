"""Decisions have a status and at most 350 words; the index has all in order; references to them resolve."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_words import NO_PROSE, banned

FOLDER: Final = ROOT / "docs" / "adr"
ADRS: Final = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
MAX_WORDS: Final = 350
SHAPE: Final = ("**Context.**", "**Decision.**", "**Consequences.**", "**What would change our mind.**")

_TITLE: Final = re.compile(r"# (?P<number>\d{4}) (?P<title>\S.*)")
_STATUS: Final = re.compile(
    r"Status: (?P<status>(accepted|superseded (in part )?by \[\d{4}\]\(\d{4}-[\w-]+\.md\)"
    r"( and \[\d{4}\]\(\d{4}-[\w-]+\.md\))*), \d{4}-\d{2}-\d{2})"
)
_ROW: Final = re.compile(
    r"^\| \[(?P<number>\d{4})\]\((?P<file>[^)]+)\) \| (?P<title>.+) \| (?P<status>.+) \|$", re.MULTILINE
)
_LINK: Final = re.compile(r"\]\((?!https?:)([^)#\s]+)")
_NUMBER: Final = re.compile(r"(?:\bADR\s+|docs/adr/)(\d{4})")
_SOURCES: Final = ("libs", "services", "cli", "tools", "tests", "bench", "proto", "helm", "docs")
_KINDS: Final = frozenset({".py", ".sql", ".md", ".proto", ".yaml", ".toml"})

each_adr = pytest.mark.parametrize("adr", ADRS, ids=lambda adr: adr.name)


def head_of(adr: Path) -> tuple[str, str]:
    """Return the title and the status of a decision: its first and its third line."""
    first, blank, third = adr.read_text("utf-8").splitlines()[:3]
    title, status = _TITLE.fullmatch(first), _STATUS.fullmatch(third)
    assert title is not None, f"{adr.name} begins with `# NUMBER TITLE`"
    assert title["number"] == adr.name[:4]
    assert blank == ""
    assert status is not None, (
        f"the third line of {adr.name} is `Status: accepted, DATE` or `… superseded [in part] by [N](FILE), DATE`"
    )
    return title["title"], status["status"]


def sources() -> Iterator[Path]:
    """Yield the files that may refer to ADRs."""
    yield from ROOT.glob("*.*")
    for top in _SOURCES:
        yield from (path for path in (ROOT / top).rglob("*.*") if path.suffix in _KINDS)


@each_adr
def test_title_and_status_stand_first(adr: Path) -> None:
    head_of(adr)


@each_adr
def test_it_fits_a_page(adr: Path) -> None:
    assert len(adr.read_text("utf-8").split()) <= MAX_WORDS


@each_adr
def test_it_has_context_decision_consequences_and_what_would_change_it(adr: Path) -> None:
    text = adr.read_text("utf-8")
    places = [text.find(f"\n\n{part}") for part in SHAPE]
    assert -1 not in places
    assert places == sorted(places)


@each_adr
def test_it_has_the_terms_of_the_field(adr: Path) -> None:
    assert banned(NO_PROSE.sub("", adr.read_text("utf-8"))) == []


def test_index_has_every_decision_in_order() -> None:
    rows = [
        row.group("number", "file", "title", "status")
        for row in _ROW.finditer((FOLDER / "README.md").read_text("utf-8"))
    ]
    assert rows == [(adr.name[:4], adr.name, *head_of(adr)) for adr in ADRS]


def test_numbers_have_no_gap() -> None:
    assert [adr.name[:4] for adr in ADRS] == [f"{number:04}" for number in range(1, len(ADRS) + 1)]


@pytest.mark.parametrize("page", [*ADRS, FOLDER / "README.md"], ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    assert [link for link in _LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()] == []


def test_numbers_that_others_refer_to_exist() -> None:
    known = {adr.name[:4] for adr in ADRS}
    named = {
        (path.relative_to(ROOT).as_posix(), number)
        for path in sources()
        if path.is_file()
        for number in _NUMBER.findall(path.read_text("utf-8", errors="ignore"))
    }
    assert len(named) > 100
    assert {where for where in named if where[1] not in known} == set()
