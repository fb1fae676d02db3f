"""Has the processor make a task for each stored upload and each removed feed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import structlog

from classifeed_api.domain.feeds import FeedDeletion
from classifeed_api.domain.uploads import Upload
from classifeed_api.store import task_line, uploads
from classifeed_common.db import Database
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.tracing import entered

log = structlog.get_logger(__name__)


class TaskMaker(Protocol):
    """The processor, as this use case needs it."""

    async def load_upload(self, upload: Upload) -> int:
        """Return the id of the task that loads the upload; idempotent by the upload's id."""

    async def delete_offers(self, deletion: FeedDeletion) -> int:
        """Return the id of the task that takes the offers of a removed feed away; idempotent by its version."""


class CreateTasks:
    """Pushes what waits for a task to the processor; safe to repeat, as the processor knows each by its id.

    Tasks of a namespace run in the order in which they are made. So the rows must be the first of their namespaces:
    what comes after them is not requested before their tasks are there.
    """

    def __init__(self, database: Database, processor: TaskMaker) -> None:
        self._database = database
        self._processor = processor

    async def __call__(self, rows: Sequence[Any]) -> Sequence[bool]:
        """Return for each row whether its task is made. One that fails does not hold up other namespaces."""
        return await asyncio.gather(*(self._push_traced(row) for row in rows))

    async def _push_traced(self, row: Any) -> bool:
        with entered(task_line.trace_of(row)):
            return await self._push(task_line.waiting_of(row))

    async def _push(self, waiting: task_line.Waiting) -> bool:
        try:
            if isinstance(waiting, FeedDeletion):
                await self._processor.delete_offers(waiting)
                return True
            task_id = await self._processor.load_upload(waiting)
        except Exception as error:  # noqa: BLE001 - whatever it is, the row stays due and is tried again
            log_fault(log, "api.create_task.failed", error, namespace=waiting.key.name)
            return False
        async with self._database.transaction() as tx:
            await uploads.set_task(tx, waiting.upload_id, task_id)
        return True
