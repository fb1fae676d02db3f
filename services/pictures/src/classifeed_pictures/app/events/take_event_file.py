"""Processes an event file: each row becomes an event in its shard, in slices, resuming after an earlier run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.pictures.v1.events_pb2 import (
    DELETE_REASON_GIVEN_UP,
    DELETE_REASON_REQUESTED,
    DeletePicture,
    EventSource,
    LookAgain,
)
from classifeed.pictures.v1.requests_pb2 import PictureRequest
from classifeed_common.db import after_commit
from classifeed_common.kafka import Message
from classifeed_common.spool import run_folder
from classifeed_jobs import Fail, JobContext, Progress
from classifeed_pictures.app.events.make_events import EventMaker
from classifeed_pictures.app.events.send_messages import Sender, send_messages
from classifeed_pictures.clients.event_bucket import EventBucket
from classifeed_pictures.clients.event_file_rows import read_batches
from classifeed_pictures.clients.gathering import Row
from classifeed_pictures.domain.event_files import EventFile, EventFileFault, EventFileReplaced
from classifeed_pictures.domain.event_rows import EventRow, WrongRow, read_row
from classifeed_pictures.domain.item_faults import ItemFault
from classifeed_pictures.metrics import EVENT_FILES, EVENTS, REFUSED
from classifeed_pictures.store.events import event_files

_LOGGED_ROWS: Final = 100
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TakeEventFile:
    """Processes event files.

    A slice is sent before its transaction, so that no transaction waits for Kafka or the object store. A run that dies
    in between sends the slice again. Each event names file, ETag and row.

    Attributes:
        bucket: bucket with the files.
        producer: producer for the events.
        make_events: returns an EventMaker with the rules in force; called once per slice.
        spool_dir: folder for copies of files.
        limit_bytes: maximum size of a file, in bytes.
    """

    bucket: EventBucket
    producer: Sender
    make_events: Callable[[], EventMaker]
    spool_dir: Path
    limit_bytes: int

    async def __call__(self, ctx: JobContext, file: EventFile) -> AsyncGenerator[Progress, None]:
        """Process the rows that no earlier run has processed; yield after each slice.

        Raises:
            Fail: the file cannot be read; the readable rows are processed.
            ClaimLost: another run has claimed the job.
        """
        if file.size_bytes > self.limit_bytes:
            raise Fail(f"{file.name} has {file.size_bytes} bytes; {self.limit_bytes} are allowed. Split it.")
        with run_folder(self.spool_dir) as folder:
            path = folder / "events"
            try:
                await self.bucket.fetch(file.name, file.etag, path)
                async with aclosing(self._take(ctx, file, path)) as steps:
                    async for progress in steps:
                        yield progress
            except EventFileReplaced as error:
                await self._end(ctx, file, "REPLACED", str(error))
            except EventFileFault as error:
                raise Fail(f"{file.name} {error}") from error

    async def _take(self, ctx: JobContext, file: EventFile, path: Path) -> AsyncGenerator[Progress, None]:
        row, wrong = ctx.checkpoint or (0, 0)
        batches = read_batches(path, file.name, row)
        try:
            while batch := await asyncio.to_thread(next, batches, None):
                messages, faults = self._make(file, batch, row)
                await send_messages(self.producer, messages)
                logged = faults[: max(_LOGGED_ROWS - wrong, 0)]
                row, wrong = row + len(batch), wrong + len(faults)
                async with ctx.guarded_transaction() as tx:
                    await event_files.note_rows(tx, file.name, file.etag, rows=row, wrong_rows=wrong)
                    await ctx.save_checkpoint(tx, [row, wrong])
                    after_commit(tx, partial(_report, file, len(messages), len(faults), logged))
                yield Progress(processed=row, detail={"wrong_rows": wrong})
        finally:
            with suppress(ValueError):  # after a cancellation, a thread may still read a batch
                batches.close()  # type: ignore[attr-defined]
        await self._end(ctx, file, "DONE")

    def _make(
        self, file: EventFile, batch: Sequence[Row], first_row: int
    ) -> tuple[list[Message], list[tuple[int, str]]]:
        """Return the events of a batch, and the unusable rows with the reasons."""
        maker = self.make_events()
        messages: list[Message] = []
        faults: list[tuple[int, str]] = []
        for number, row in enumerate(batch, start=first_row):
            try:
                if isinstance(row, WrongRow):
                    raise row
                made = _event_of(maker, file, number, read_row(row))
            except WrongRow as wrong:
                faults.append((number, str(wrong)))
                continue
            if isinstance(made, ItemFault):
                faults.append((number, made.words))
            else:
                messages.append(made)
        return messages, faults

    async def _end(self, ctx: JobContext, file: EventFile, state: event_files.Ended, error: str | None = None) -> None:
        async with ctx.guarded_transaction() as tx:
            await event_files.end_file(tx, file.name, file.etag, state, error)
            after_commit(tx, EVENT_FILES.labels(state.lower()).inc)
            after_commit(
                tx, partial(_log.info, "pictures.event_file.ended", file=file.name, etag=file.etag, state=state)
            )


def _event_of(maker: EventMaker, file: EventFile, number: int, row: EventRow) -> Message | ItemFault:
    # The name includes the ETag, since a changed file has different rows.
    told: dict[str, Any] = {"source": EventSource(name=f"{file.name}@{file.etag}", position=number), "trace": None}
    told["time"] = time = Timestamp()
    if row.time_us is None:
        time.FromDatetime(file.put_at)
    else:
        time.FromMicroseconds(row.time_us)
    if row.kind == "requested":
        request = PictureRequest(url=row.url, namespace=row.namespace, reference=row.reference)
        return maker.of_request(request, recipient=row.recipient, **told)
    if row.kind == "look_again":
        return maker.of_change(row.url, LookAgain(), **told)
    reason = DELETE_REASON_GIVEN_UP if row.recipient else DELETE_REASON_REQUESTED
    deletion = DeletePicture(reason=reason, namespace=row.namespace, recipient=row.recipient)
    return maker.of_change(row.url, deletion, **told)


def _report(file: EventFile, events: int, wrong: int, logged: Sequence[tuple[int, str]]) -> None:
    EVENTS.labels("files").inc(events)
    REFUSED.labels("row").inc(wrong)
    for row, reason in logged:
        _log.warning("pictures.event_file.row_refused", file=file.name, etag=file.etag, row=row, reason=reason)
