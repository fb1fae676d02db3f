"""Creates a task at the processor for each stored upload and each removed feed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol

import structlog

from classifeed_api.domain.feeds import FeedDeletion
from classifeed_api.domain.uploads import Upload
from classifeed_api.store import task_line, uploads
from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.tracing import entered

# A failed row is retried within half a minute, unless it was deleted with its feed.
_FORGET_FAULT_S: Final = 60.0

log = structlog.get_logger(__name__)


class TaskMaker(Protocol):
    """The processor, as this use case needs it."""

    async def load_upload(self, upload: Upload) -> int:
        """Return the id of the task that loads the upload; idempotent by the upload's id."""

    async def delete_offers(self, deletion: FeedDeletion) -> int:
        """Return the id of the task that removes the offers of a removed feed; idempotent by its version."""


class CreateTasks:
    """Pushes uploads and removals to the processor. Repeating a push is safe: the processor knows each by its id.

    The tasks of a namespace run in the order in which they are created. The caller therefore passes only the first row
    of each namespace; the next one is pushed once that task exists.
    """

    def __init__(self, database: Database, processor: TaskMaker, *, clock: Clock | None = None) -> None:
        self._database = database
        self._processor = processor
        self._fault = LastingFault(clock, forget_after_s=_FORGET_FAULT_S)

    async def __call__(self, rows: Sequence[Any]) -> Sequence[bool]:
        """Return for each row whether its task was created. A failed row does not hold up other namespaces."""
        return await asyncio.gather(*(self._push_traced(row) for row in rows))

    def blocked(self) -> dict[str, str]:
        """Return why no task is created; for `Role.blocked`. No effect."""
        return self._fault.blocked("tasks", "creating tasks", "Uploads and removed feeds wait for their tasks")

    async def _push_traced(self, row: Any) -> bool:
        with entered(task_line.trace_of(row)):
            return await self._push(task_line.waiting_of(row))

    async def _push(self, waiting: task_line.Waiting) -> bool:
        try:
            if isinstance(waiting, FeedDeletion):
                task_id = await self._processor.delete_offers(waiting)
            else:
                task_id = await self._processor.load_upload(waiting)
        except Exception as error:  # noqa: BLE001 - the row stays due and is retried
            self._fault.note(error)
            log_fault(log, "api.create_task.failed", error, namespace=waiting.key.name)
            return False
        self._fault.clear()
        if not isinstance(waiting, FeedDeletion):
            async with self._database.transaction() as tx:
                await uploads.set_task(tx, waiting.upload_id, task_id)
        return True
