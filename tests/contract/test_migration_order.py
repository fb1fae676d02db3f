"""Migrations of a service form one line, and each has a greater number than its predecessor.

A process compares the revision of its database with the greatest one of its code (`classifeed_common.db.revision`). A
migration with a smaller number than its predecessor would count as applied.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from classifeed_common.db.revision import _order

ROOT: Final = Path(__file__).parents[2]
HISTORIES: Final = sorted(ROOT.glob("services/*/src/*/migrations/versions"))
_ID: Final = re.compile(r'^(revision|down_revision)\b[^=]*= (?:None|"([0-9_]+)")$', re.MULTILINE)


def follows_of(history: Path) -> dict[str, str | None]:
    """Return each revision with its predecessor; check that file names say the same."""
    follows: dict[str, str | None] = {}
    for file in history.glob("2*.py"):
        ids = {name: revision or None for name, revision in _ID.findall(file.read_text("utf-8"))}
        assert file.name.startswith(f"{ids['revision']}_"), file
        follows[str(ids["revision"])] = ids["down_revision"]
    return follows


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.parts[-3])
def test_a_migration_has_a_greater_number_than_the_one_it_follows(history: Path) -> None:
    follows = follows_of(history)
    assert len(set(follows) - set(follows.values())) == 1, "several ends: make it one line again"
    wrong = {one: before for one, before in follows.items() if before is not None and _order(one) <= _order(before)}
    assert not wrong
