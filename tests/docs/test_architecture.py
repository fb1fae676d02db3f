"""ARCHITECTURE has one text diagram with every service; its linked terms are in the glossary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from classifeed_cli.platform.planning.service_table import ServiceTable
from tests.docs.pages import ROOT
from tests.docs.reference.test_glossary import terms
from tests.docs.test_commands import PAGES

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
_BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TERM = re.compile(r"\[(?!glossary\])([^\]]+)\]\([\w./-]*glossary\.md#([a-z])\)")
_COLUMNS = 80


def plain(term: str) -> str:
    """Return a term in lower case without blanks and punctuation."""
    return re.sub(r"[\W_]", "", term.casefold())


def test_there_is_one_diagram_of_all_services_that_fits_a_terminal() -> None:
    (diagram,) = _BLOCK.findall(ARCHITECTURE)
    table = ServiceTable.load()
    assert [line for line in diagram.splitlines() if len(line) > _COLUMNS] == []
    assert [name for name in table.services if f" {name} " not in diagram] == []


def test_the_table_has_every_service_and_no_other() -> None:
    listed = re.findall(r"^\| \[(\w+)\]\(services/(\w+)\) \|", ARCHITECTURE, re.MULTILINE)
    assert sorted(listed) == sorted((name, name) for name in ServiceTable.load().services)


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md"])
def test_how_many_services_there_are_is_given_by_the_table_alone(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert re.findall(r"(?i)\b(?:\d+|five|six|seven|eight|nine|ten|eleven|twelve) (?:gRPC )?services\b", text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_linked_terms_are_in_the_glossary(page: Path) -> None:
    known = [plain(term) for term in terms()]
    linked = _TERM.findall(page.read_text("utf-8"))
    assert [
        text for text, letter in linked if not any(plain(text).startswith(term) and term[0] == letter for term in known)
    ] == []


def test_architecture_links_its_terms() -> None:
    assert len(_TERM.findall(ARCHITECTURE)) >= 25
