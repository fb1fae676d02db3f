"""Queries of the clean-up. Each function runs in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_REMOVED
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_common.db import Tx, load_queries

_SQL: Final = load_queries(__package__, "cleaning.sql")


class LoadedUpload(NamedTuple):
    """An upload and the task that was created for it."""

    upload_id: UUID
    seller_id: str
    namespace: str
    task_id: int

    @property
    def task_name(self) -> str:
        """Resource name of the task."""
        return f"sellers/{self.seller_id}/feeds/{self.namespace}/tasks/{self.task_id}"


async def list_unstored(tx: Tx, *, before: datetime, limit: int) -> list[UUID]:
    """Return uploads from before a time whose file was never stored."""
    rows = await (await tx.execute(_SQL["list_unstored"], {"before": before, "limit": limit})).fetchall()
    return [row[0] for row in rows]


async def list_loaded(tx: Tx, *, after: UUID, kept: int, limit: int) -> list[LoadedUpload]:
    """Return the next uploads with a task, by id, that are not among the newest `kept` or precede a removal."""
    parameters = {"after": after, "kept": kept, "limit": limit, "removed": FEED_STATUS_REMOVED}
    return [LoadedUpload(*row) for row in await (await tx.execute(_SQL["list_loaded"], parameters)).fetchall()]


async def delete_uploads(tx: Tx, upload_ids: Sequence[UUID]) -> None:
    """Delete uploads."""
    await tx.execute(_SQL["delete_uploads"], {"upload_ids": list(upload_ids)})


async def delete_deletions(tx: Tx, *, before: datetime, limit: int) -> int:
    """Delete removals of feeds from before a time that have their tasks; return their number."""
    return (await tx.execute(_SQL["delete_deletions"], {"before": before, "limit": limit})).rowcount


async def find_removed_feed(tx: Tx, *, before: datetime) -> NamespaceKey | None:
    """Return the namespace of a feed that was removed before a time and need not be sent to the loader any more."""
    row = await (await tx.execute(_SQL["find_removed_feed"], _of_removed(before))).fetchone()
    return None if row is None else NamespaceKey(*row)


async def delete_removed_feed(tx: Tx, key: NamespaceKey, *, before: datetime) -> int:
    """Delete the row of a removed feed; return the number of rows. The caller holds the namespace's lock."""
    return (await tx.execute(_SQL["delete_removed_feed"], {**_of_removed(before), **key._asdict()})).rowcount


def _of_removed(before: datetime) -> dict[str, Any]:
    return {"removed": FEED_STATUS_REMOVED, "before": before}
