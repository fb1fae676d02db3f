"""List event files: those of the bucket that are not known get a job each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from classifeed_common.db import Tx
from classifeed_jobs import Begin, Cursor, JobContext, Progress, Slice
from classifeed_pictures.clients.event_bucket import EventBucket
from classifeed_pictures.domain.event_files import EventFile
from classifeed_pictures.store import event_files

_REMOVED: Final = 100


async def list_event_files(
    ctx: JobContext, bucket: EventBucket, enqueue: Callable[[Tx, EventFile], Awaitable[None]]
) -> AsyncGenerator[Progress, None]:
    """Store new files, each with a job in the same transaction; a run that dies leaves the rest to the next one.

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
    """Remove files that ended long ago, and forget them: a step of the clean-up. Idempotent.

    A file whose bytes were replaced meanwhile stays, as it is another one.
    """
    async with begin() as tx:
        old = await event_files.list_ended(tx, before=at - timedelta(days=kept_days), limit=_REMOVED)
    for name, etag in old:
        await bucket.remove(name, etag)
    async with begin() as tx:
        removed = await event_files.delete_files(tx, old)
    return Slice(next=True if len(old) == _REMOVED else None, processed=removed)
