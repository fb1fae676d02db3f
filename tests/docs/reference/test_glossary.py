"""The glossary is sorted, and has a replacement for each word that is banned from identifiers."""

from __future__ import annotations

import re

from tools.furniture.words import BANNED

from tests.docs.pages import REFERENCE

GLOSSARY = (REFERENCE / "glossary.md").read_text("utf-8")
_TERM = re.compile(r"^- \*\*(?P<term>[^*]+)\*\*: (?P<meaning>[^()]+.*) \((?P<synonym>[^()]+)\)$")
_ROW = re.compile(r"^\| (?P<words>[^|]+) \| (?P<term>[^|]+) \|$", re.MULTILINE)


def terms() -> list[str]:
    """Return the terms in the order of the page; check that each is in the section of its letter."""
    found, letter = [], ""
    for line in GLOSSARY.splitlines():
        if heading := re.fullmatch(r"## ([A-Z])", line):
            letter = heading[1]
        elif line.startswith("- "):
            entry = _TERM.fullmatch(line)
            assert entry is not None, f"not `- **term**: meaning (synonym)`: {line}"
            assert entry["term"][0].upper() == letter, f"{entry['term']} is in section {letter}"
            found.append(entry["term"])
    return found


def test_terms_are_in_alphabetical_order_and_stand_once() -> None:
    found = [term.casefold() for term in terms()]
    assert len(found) > 50
    assert found == sorted(set(found))


def test_each_banned_word_has_its_term() -> None:
    instead = {word: row["term"] for row in _ROW.finditer(GLOSSARY) for word in row["words"].split(", ")}
    assert {word: instead.get(word) for word in BANNED} == BANNED


def test_only_stored_names_have_a_banned_word() -> None:
    kept = {"parked"}  # a stored name; its row says what to write in other places
    assert {term for term in terms() if set(term.casefold().split()) & set(BANNED)} == kept
