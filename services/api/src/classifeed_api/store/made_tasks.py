"""Uploads and removals whose tasks the processor reported as created."""

from __future__ import annotations

from typing import Final, NamedTuple

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_REMOVED
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import task_line
from classifeed_common.db import Tx, load_queries

_SQL: Final = load_queries(__package__, "made_tasks.sql")
_VERIFIED_DAYS: Final = 7


class Made(NamedTuple):
    """The newest upload or removal of a namespace.

    Attributes:
        key: the namespace.
        task_id: id of the upload's task; None for a removal.
        at_least: lowest id that the namespace's newest task can have, unless the processor's database was restored.
        version: version of the upload or removal in the queue of the namespace.
    """

    key: NamespaceKey
    task_id: int | None
    at_least: int
    version: int

    @property
    def task_name(self) -> str | None:
        """Resource name of the task; None for a removal."""
        return None if self.task_id is None else f"{self.key.name}/tasks/{self.task_id}"


async def list_newest(tx: Tx, after: NamespaceKey | None, *, limit: int) -> list[Made]:
    """Return the newest upload or removal of the last week for each namespace without a feed, after `after`."""
    place = (after or NamespaceKey("", ""))._asdict()
    parameters = {**place, "removed": FEED_STATUS_REMOVED, "days": _VERIFIED_DAYS, "limit": limit}
    rows = await (await tx.execute(_SQL["list_newest"], parameters)).fetchall()
    return [Made(NamespaceKey(row[0], row[1]), *row[2:]) for row in rows]


async def forget_made(tx: Tx, newest: Made, known: int) -> int:
    """Make the uploads and removals due again whose tasks are newer than the newest known one; return their number.

    Nothing becomes due if a newer upload or removal is queued: its task may exist already, with an id below the new
    tasks of the older ones, which would then be loaded last.
    """
    key = newest.key._asdict()
    await task_line.lock(tx, newest.key)
    [(has_later,)] = await (await tx.execute(_SQL["has_later"], {**key, "version": newest.version})).fetchall()
    if has_later:
        return 0
    parameters = {**key, "known": known, "days": _VERIFIED_DAYS}
    uploads = await tx.execute(_SQL["forget_uploads"], parameters)
    deletions = await tx.execute(_SQL["forget_deletions"], parameters)
    return uploads.rowcount + deletions.rowcount
