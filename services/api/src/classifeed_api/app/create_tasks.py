"""Has the processor make a task for each stored upload."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import structlog

from classifeed_api.domain.uploads import Upload
from classifeed_api.store import uploads
from classifeed_common.db import Database

log = structlog.get_logger(__name__)


class TaskMaker(Protocol):
    """The processor, as this use case needs it."""

    async def create_task(self, upload: Upload) -> int:
        """Returns the id of the task that loads the upload; idempotent by the upload's id."""


class CreateTasks:
    """Pushes due uploads to the processor; safe to repeat, as the processor knows an upload by its id."""

    def __init__(self, db: Database, processor: TaskMaker) -> None:
        self._db = db
        self._processor = processor

    async def __call__(self, rows: Sequence[tuple[Any, ...]]) -> Sequence[bool]:
        """Returns for each due row whether its task is made. An upload that fails does not hold up the others."""
        # One seller's uploads go in their order, as tasks of a namespace run in the order they are made.
        by_namespace: dict[tuple[str, str], list[int]] = {}
        due = [uploads.upload_of(row) for row in rows]
        for at, upload in enumerate(due):
            by_namespace.setdefault((upload.seller_id, upload.namespace), []).append(at)
        done = [False] * len(due)
        await asyncio.gather(*(self._push(due, group, done) for group in by_namespace.values()))
        return done

    async def _push(self, due: Sequence[Upload], group: Sequence[int], done: list[bool]) -> None:
        for at in group:
            upload = due[at]
            try:
                task_id = await self._processor.create_task(upload)
            except Exception as error:  # noqa: BLE001 - whatever it is, the upload stays due and is tried again
                log.warning("api.create_task.failed", upload_id=str(upload.upload_id), error=str(error))
                return
            async with self._db.transaction() as tx:
                await uploads.set_task(tx, upload.upload_id, task_id)
            done[at] = True
