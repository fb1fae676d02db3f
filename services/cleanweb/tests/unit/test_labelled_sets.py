"""The labelled sets of `make bench-moderation` equal their sources, and the frozen set is unchanged."""

from __future__ import annotations

import hashlib

import pytest
from bench.moderation.labelled.make import FOLDER, render, rows

# The set was written before the rules. A changed set measures something else: begin a new set instead.
_FROZEN = "1fd58cc9b75dd1c8f5386ced38195bd7410837ad0524540b4c3fb69575e3cf76"


@pytest.mark.parametrize("name", ["frozen", "development"])
def test_a_set_is_made_from_its_source(name: str) -> None:
    assert (FOLDER / f"{name}.jsonl").read_text("utf-8") == render(rows(name))


def test_the_frozen_set_is_as_it_was() -> None:
    assert hashlib.sha256((FOLDER / "frozen.jsonl").read_bytes()).hexdigest() == _FROZEN


def test_the_sets_share_no_text() -> None:
    """Clean texts of a word or two may occur twice; labelled texts may not."""
    frozen, development = (
        {row.text.casefold() for row in rows(name) if row.labels} for name in ("frozen", "development")
    )
    assert frozen & development == set()


def test_the_frozen_set_is_big_enough() -> None:
    made = rows("frozen")
    assert len(made) >= 2000
    assert {label for row in made for label in row.labels} == {
        "obscene", "insult", "threat", "spam", "contacts", "links", "ad"
    }  # fmt: skip
    assert {row.lang for row in made} == {"ru", "en", "tr"}
