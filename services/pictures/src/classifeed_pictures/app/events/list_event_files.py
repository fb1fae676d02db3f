"""Finds new event files in the bucket and enqueues a job for each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from classifeed_common.db import Tx
from classifeed_jobs import Begin, Cursor, JobContext, Progress, Slice
from classifeed_pictures.clients.event_bucket import EventBucket
from classifeed_pictures.domain.event_files import EventFile
from classifeed_pictures.store.events import event_files

_REMOVED: Final = 100


async def list_event_files(
    ctx: JobContext, bucket: EventBucket, enqueue: Callable[[Tx, EventFile], Awaitable[None]]
) -> AsyncGenerator[Progress, None]:
    """Record new files, each with a job in the same transaction; the next run handles the rest if this one dies.

    Raises:
        Unavailable: the object store does not respond.
    """
    listed = 0
    async for page in bucket.list_pages():
        async with ctx.guarded_transaction() as tx:
            for file in await event_files.add_files(tx, page):
                await enqueue(tx, file)
        listed += len(page)
        yield Progress(processed=listed)


async def remove_event_files(
    begin: Begin, at: datetime, _cursor: Cursor | None, *, bucket: EventBucket, kept_days: int
) -> Slice:
    """Remove files that ended long ago, with their rows: a step of the clean-up. Idempotent.

    If the bytes of a file were replaced meanwhile, it stays, as it is a different file.
    """
    async with begin() as tx:
        old = await event_files.list_ended(tx, before=at - timedelta(days=kept_days), limit=_REMOVED)
    for name, etag in old:
        await bucket.remove(name, etag)
    async with begin() as tx:
        removed = await event_files.delete_files(tx, old)
    return Slice(next=True if len(old) == _REMOVED else None, processed=removed)
