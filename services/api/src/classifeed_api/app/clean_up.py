"""The clean-up of uploads and removed feeds, with their retention (ADR 0036)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol
from uuid import UUID

from classifeed_api.domain.uploads import reference_of
from classifeed_api.store import cleaning, task_line
from classifeed_common.blobs import BlobRefs
from classifeed_common.db import Tx
from classifeed_jobs import Begin, CleanUp, Cursor, Slice, until_nothing_is_left

CLEAN_UP: Final = "api.clean-up"
# If an upload is not stored after a day, its process died.
_UNSTORED: Final = timedelta(days=1)
_ROWS: Final = 200


class Tasks(Protocol):
    """The processor, as the clean-up needs it."""

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        """Return the names of the tasks that exist."""


def api_clean_up(tasks: Tasks, refs: BlobRefs, *, history_uploads: int, removed_days: int) -> CleanUp:
    """Return the clean-up.

    Args:
        tasks: finds which tasks exist.
        refs: references of uploads to their files.
        history_uploads: number of uploads per namespace that are kept although their tasks are gone.
        removed_days: days for which removed feeds are kept; longer than the receiver keeps its tombstones.
    """
    removed = timedelta(days=removed_days)
    return CleanUp(
        CLEAN_UP,
        [
            until_nothing_is_left(partial(_remove_unstored, refs=refs), limit=_ROWS),
            partial(remove_old_uploads, tasks=tasks, refs=refs, kept=history_uploads),
            until_nothing_is_left(partial(_remove_deletions, age=removed), limit=_ROWS),
            partial(_remove_feed, age=removed),
        ],
    )


async def remove_old_uploads(
    begin: Begin, _at: datetime, cursor: Cursor | None, *, tasks: Tasks, refs: BlobRefs, kept: int, limit: int = _ROWS
) -> Slice:
    """Remove the uploads of the next slice whose tasks are gone, each with its reference to the file.

    Raises:
        grpc.aio.AioRpcError: the processor does not respond; nothing of the slice is removed.
    """
    async with begin() as tx:
        listed = await cleaning.list_loaded(tx, after=UUID(cursor or str(UUID(int=0))), kept=kept, limit=limit)
    there = await tasks.list_existing_tasks({upload.task_name for upload in listed})
    old = [upload.upload_id for upload in listed if upload.task_name not in there]
    async with begin() as tx:
        await _delete(tx, old, refs)
    return Slice(next=str(listed[-1].upload_id) if len(listed) == limit else None, processed=len(old))


async def _remove_unstored(tx: Tx, at: datetime, limit: int, *, refs: BlobRefs) -> int:
    left = await cleaning.list_unstored(tx, before=at - _UNSTORED, limit=limit)
    await _delete(tx, left, refs)
    return len(left)


async def _delete(tx: Tx, upload_ids: list[UUID], refs: BlobRefs) -> None:
    for upload_id in upload_ids:
        await refs.drop(tx, reference_of(upload_id))
    await cleaning.delete_uploads(tx, upload_ids)


async def _remove_deletions(tx: Tx, at: datetime, limit: int, *, age: timedelta) -> int:
    return await cleaning.delete_deletions(tx, before=at - age, limit=limit)


async def _remove_feed(begin: Begin, at: datetime, _cursor: Cursor | None, *, age: timedelta) -> Slice:
    async with begin() as tx:
        key = await cleaning.find_removed_feed(tx, before=at - age)
        if key is None:
            return Slice(next=None)
        await task_line.lock(tx, key)
        return Slice(next=True, processed=await cleaning.delete_removed_feed(tx, key, before=at - age))
