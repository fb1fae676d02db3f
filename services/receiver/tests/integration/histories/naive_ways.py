"""Wrong ways of writing documents, which other systems have used; the model finds each."""

from __future__ import annotations

from typing import Final

import pytest

from classifeed_receiver.store import registry

_WRITE: Final = registry._SQL["write_documents"]


def let_the_last_write_win(patch: pytest.MonkeyPatch) -> None:
    fresher = "(d.epoch, d.version, d.modify_timestamp) < (excluded.epoch, excluded.version, excluded.modify_timestamp)"
    _patch_write(patch, {fresher: "true"})


def draw_the_index_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Give elements the number of their push's beginning, without a lock on the counter."""
    began = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"
    clock = began.replace("statement_", "clock_")
    changes = {
        f"greatest(s.last_idx, {clock}) + %(count)s": f"greatest(s.last_idx, {began} + %(count)s)",
        f"shard, {clock} + %(count)s": f"shard, {began} + %(count)s",
        "last_idx + 1 - row_number()": f"{began} + %(count)s + 1 - row_number()",
    }
    _patch_write(patch, changes)


def _patch_write(patch: pytest.MonkeyPatch, changes: dict[str, str]) -> None:
    statement = _WRITE
    for before, after in changes.items():
        assert before in statement
        statement = statement.replace(before, after)
    patch.setattr(registry, "_SQL", {**registry._SQL, "write_documents": statement})


NAIVE_WAYS: Final = (let_the_last_write_win, draw_the_index_before_the_commit)
