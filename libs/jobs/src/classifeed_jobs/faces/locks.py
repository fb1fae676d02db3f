"""Who holds which lock key, since when, and how many wait for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from classifeed_common.db import Database, load_queries

MAX_LOCKS: Final = 1000
_LIST = load_queries("classifeed_jobs.faces", "locks.sql")["list_held"]


@dataclass(frozen=True, slots=True)
class LockState:
    """A held key; `waiting` counts the due jobs that a worker passed over because of it."""

    lock_key: str
    job_id: UUID
    worker_id: str
    acquired_at: datetime
    waiting: int


async def list_lock_states(db: Database) -> list[LockState]:
    """The keys that are held, the longest held first; at most 1,000."""
    async with db.connection() as connection:
        rows = await (await connection.execute(_LIST, {"limit": MAX_LOCKS})).fetchall()
    return [LockState(*row) for row in rows]
