"""Promotion of the next job after the release of a lock key, and notification of workers."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.model.job import Rank

_SQL = load_queries("classifeed_jobs.schema", "promotion.sql")
_PROMOTE_NEXT = _SQL["promote_next"]
_NOTIFY = _SQL["notify_queues"]


async def promote_next(tx: Tx, lock_keys: Sequence[str]) -> list[Rank]:
    """Promote the first blocked job of each released key to the claim index; return the ranks of these jobs."""
    rows = await (await tx.execute(_PROMOTE_NEXT, {"lock_keys": list(lock_keys)})).fetchall()
    return [Rank(*row) for row in rows]


async def notify_queues(tx: Tx, queues: Sequence[str]) -> None:
    """Send one NOTIFY for each queue; workers receive it at the commit."""
    await tx.execute(_NOTIFY, {"queues": sorted(queues)})
