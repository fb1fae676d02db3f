"""Has lost tasks of uploads and removals created again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Protocol

import structlog

from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.metrics import LOST_TASKS
from classifeed_api.store import made_tasks
from classifeed_common.db import Database
from classifeed_common.loops import Loop, Looping

_SLICE: Final = 500

log = structlog.get_logger(__name__)


class KnownTasks(Protocol):
    """The processor, as this use case needs it."""

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        """Return the names of the tasks that exist."""

    async def find_newest(self, key: NamespaceKey) -> int:
        """Return the id of the namespace's newest task; 0 if there is none."""


class TaskVerifier(Looping):
    """Compares the processor's tasks with those that it reported as created, for uploads and removals of the last week.

    If the processor's database was restored from a backup, it lacks the newest tasks, and their files would not be
    loaded. A lost task differs from one that was cleaned up: task ids grow with the clock, and the namespace's newest
    task is older. All uploads and removals from the lost ones on become due again, in their order, unless a newer one
    waits already: the older ones would then be loaded after it.

    A namespace with a feed by link is skipped: its next fetch brings newer data than any upload.

    Args:
        database: database with the uploads.
        processor: client for tasks.
        on_lost: called when an upload or removal became due again.
        interval_s: seconds between two comparisons.
    """

    def __init__(
        self, database: Database, processor: KnownTasks, *, on_lost: Callable[[], None], interval_s: float
    ) -> None:
        self._database = database
        self._processor = processor
        self._on_lost = on_lost
        self.loop = Loop(
            self.verify,
            period_s=interval_s,
            name="comparing tasks",
            doing="comparing tasks with the processor",
            effect="Tasks that the processor has lost are not created again",
        )

    async def verify(self) -> int:
        """Make uploads and removals with lost tasks due again; return their number.

        Raises:
            grpc.aio.AioRpcError: the processor does not respond.
        """
        lost = 0
        after: NamespaceKey | None = None
        while True:
            async with self._database.transaction() as tx:
                newest = await made_tasks.list_newest(tx, after, limit=_SLICE)
            if not newest:
                return lost
            there = await self._processor.list_existing_tasks({made.task_name for made in newest if made.task_name})
            for made in newest:
                if made.task_name not in there:
                    lost += await self._verify(made)
            after = newest[-1].key

    async def _verify(self, made: made_tasks.Made) -> int:
        known = await self._processor.find_newest(made.key)
        if known >= made.at_least:
            return 0
        async with self._database.transaction() as tx:
            count = await made_tasks.forget_made(tx, made, known)
        if count:
            LOST_TASKS.inc(count)
            log.warning("api.tasks.lost", namespace=made.key.name, tasks=count, newest_known=known)
            self._on_lost()
        return count
