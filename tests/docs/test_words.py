"""Documents and comments of protos have the field's terms: words of the glossary's table stay out of sentences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from tools.furniture.words import BANNED, PLAIN

from tests.docs.pages import REFERENCE, ROOT
from tests.docs.test_commands import PAGES

_WORD: Final = re.compile(rf"(?<![\w.-])({'|'.join(sorted(BANNED.keys() - PLAIN))})(?![\w-])", re.IGNORECASE)
NO_PROSE: Final = re.compile(r"```.*?```|`[^`\n]*`|\[[^\]]*\]\([^)]*glossary\.md[^)]*\)|\]\([^)]*\)", re.DOTALL)
# The glossary, the changelog and the roadmap.
_OTHERS: Final = {"glossary.md", "CHANGELOG.md", "ROADMAP.md"}
_FOLDERS: Final = (ROOT, ROOT / "docs" / "how-to", REFERENCE, REFERENCE / "formats")
_READMES: Final = ("services", "libs")
WRITTEN: Final = [
    page
    for page in PAGES
    if (page.parent in _FOLDERS or page.relative_to(ROOT).parts[0] in _READMES) and page.name not in _OTHERS
]
PROTOS: Final = sorted((ROOT / "proto" / "classifeed").rglob("*.proto"))


def banned(text: str) -> list[str]:
    """Return the banned words of a text, each with its replacement."""
    return [f"{word}: {BANNED[word.lower()]}" for word in _WORD.findall(text)]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_have_the_terms_of_the_field(page: Path) -> None:
    assert banned(NO_PROSE.sub("", page.read_text("utf-8"))) == []


@pytest.mark.parametrize("proto", PROTOS, ids=lambda proto: proto.name)
def test_comments_of_protos_have_the_terms_of_the_field(proto: Path) -> None:
    comments = [line.partition("//")[2] for line in proto.read_text("utf-8").splitlines()]
    assert banned("\n".join(comments)) == []


def test_words_are_found() -> None:
    assert banned("It is asked for its Ticket, parked.") == [
        f"asked: {BANNED['asked']}", f"Ticket: {BANNED['ticket']}", f"parked: {BANNED['parked']}"
    ]  # fmt: skip
    assert len(WRITTEN) > 20
    assert len(PROTOS) > 20
