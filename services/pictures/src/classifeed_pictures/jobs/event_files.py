"""The jobs `pictures.list-event-files` and `pictures.take-event-file`: event files in the bucket become events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel

from classifeed_common.db import Tx, after_commit
from classifeed_jobs import Exponential, FailedJob, JobContext, JobStore, Progress, Registry, Schedule
from classifeed_pictures.app.events.list_event_files import list_event_files
from classifeed_pictures.app.events.take_event_file import TakeEventFile
from classifeed_pictures.clients.event_bucket import EventBucket
from classifeed_pictures.domain.event_files import EventFile
from classifeed_pictures.metrics import EVENT_FILES
from classifeed_pictures.store.events import event_files

LIST_QUEUE: Final = "pictures.list-event-files"
LIST_TASK: Final = LIST_QUEUE
TAKE_QUEUE: Final = "pictures.take-event-file"
TAKE_TASK: Final = TAKE_QUEUE
_UNKNOWN_FAULTS: Final = 5


class EventFileArgs(BaseModel):
    """The file; see `EventFile`."""

    name: str
    etag: str
    size_bytes: int
    put_at: datetime


def event_files_schedule(every_s: int) -> Schedule:
    """Return the schedule of listings; one listing runs at a time."""
    return Schedule(LIST_TASK, queue=LIST_QUEUE, task=LIST_TASK, lock_key=LIST_TASK, every_s=every_s)


def register_event_files(registry: Registry, bucket: EventBucket, take: TakeEventFile) -> None:
    """Add both tasks to a registry."""
    backoff = Exponential(first_s=1, cap_s=60)
    # Jobs are enqueued for new rows only, so this store needs no tasks.
    store = JobStore()

    async def enqueue(tx: Tx, file: EventFile) -> None:
        args = EventFileArgs(**file._asdict())
        await store.enqueue(tx, TAKE_QUEUE, TAKE_TASK, args, max_attempts=None)

    async def note_failure(tx: Tx, args: EventFileArgs, job: FailedJob) -> None:
        await event_files.end_file(tx, args.name, args.etag, "FAILED", job.message or job.outcome)
        after_commit(tx, EVENT_FILES.labels("failed").inc)

    @registry.register(LIST_TASK, backoff=backoff, resumes=True)
    async def list_files(ctx: JobContext, _args: dict[str, Any]) -> AsyncIterator[Progress]:
        async with aclosing(list_event_files(ctx, bucket, enqueue)) as steps:
            async for progress in steps:
                yield progress

    @registry.register(
        TAKE_TASK, backoff=backoff, resumes=True, max_unknown_faults=_UNKNOWN_FAULTS, on_failed=note_failure
    )
    async def take_file(ctx: JobContext, args: EventFileArgs) -> AsyncIterator[Progress]:
        async with aclosing(take(ctx, EventFile(**args.model_dump()))) as steps:
            async for progress in steps:
                yield progress
