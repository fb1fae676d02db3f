"""The table of rejudgements."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.domain.verdicts import Verdict, from_json

_SQL: Final = load_queries(__package__, "rejudging.sql")


class JudgedText(NamedTuple):
    """A decided text, as far as the rules need it."""

    key: str
    kind: Kind
    region_ids: tuple[int, ...]
    status: Status
    verdicts: tuple[Verdict, ...]
    tags: tuple[str, ...]


class Change(NamedTuple):
    """A change that the rules make, the same for several texts."""

    kind: Kind
    region_id: int
    rule: str
    status: Status


async def add_rejudgement(tx: Tx, request_id: str, kind: Kind | None, *, is_dry_run: bool) -> bool:
    """Store a rejudgement; return False if the request id is known."""
    parameters = {"request_id": request_id, "kind": kind, "is_dry_run": is_dry_run}
    return (await tx.execute(_SQL["add_rejudgement"], parameters)).rowcount == 1


async def find_rejudgement(tx: Tx, request_id: str) -> Any:
    """Return a rejudgement as a row by name, or None."""
    rows = await fetch_named(tx, _SQL["find_rejudgement"], {"request_id": request_id})
    return rows[0] if rows else None


async def list_judged(tx: Tx, kind: Kind | None, *, after: str, limit: int) -> Sequence[JudgedText]:
    """Return texts after a key that a rule decided; they are not locked."""
    parameters = {"after": after, "kind": kind, "limit": limit}
    return [
        JudgedText(
            row.subject_key,
            Kind(row.kind),
            tuple(row.region_ids),
            Status(row.status),
            from_json(row.verdicts),
            tuple(row.tags or ()),
        )
        for row in await fetch_named(tx, _SQL["list_judged"], parameters)
    ]


async def note_slice(tx: Tx, request_id: str, *, judged: int, changes: Mapping[Change, int], is_last: bool) -> None:
    """Add the counts of a slice to a rejudgement."""
    row = await find_rejudgement(tx, request_id)
    counts = {Change(*item[:4]): item[4] for item in row.changes}
    for change, texts in changes.items():
        counts[change] = counts.get(change, 0) + texts
    parameters = {
        "request_id": request_id,
        "judged": judged,
        "changes": json.dumps([[*change, texts] for change, texts in sorted(counts.items())]),
        "is_last": is_last,
    }
    await tx.execute(_SQL["note_slice"], parameters)
