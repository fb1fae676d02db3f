"""CleanUp: what has been kept long enough goes, in small steps, by a job that a schedule makes (ADR 0036)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol, TypeAlias

from classifeed_common.db import Database, Tx
from classifeed_jobs.model.outcomes import Progress
from classifeed_jobs.model.retry import Exponential
from classifeed_jobs.schedule.schedules import Schedule
from classifeed_jobs.server_time import server_time
from classifeed_jobs.task.context import JobContext
from classifeed_jobs.task.registry import Registry
from classifeed_jobs.task.slices import Cursor, Slice

Begin: TypeAlias = Callable[[], AbstractAsyncContextManager[Tx]]
CleanStep: TypeAlias = Callable[[Begin, datetime, Cursor | None], Awaitable[Slice]]
"""Takes away a bounded number of rows, given a maker of transactions, the time that ages are counted to, and where to
go on (None: from the start). May be called again for a slice that it has done: what is gone is gone. It calls other
services between its transactions, never in one."""

HOURLY_S: Final = 3600


class Upkeep(Protocol):
    """A task with a queue and a schedule of its own, which all bear its name; `ServiceJobs` joins it to the others."""

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        ...

    @property
    def schedule(self) -> Schedule:
        """When it runs."""
        ...

    def tasks(self) -> Registry:
        """Return its task for the service's worker."""
        ...


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The clean-up of one service.

    Attributes:
        name: of its queue, task and schedule, such as `offers.clean-up`.
        steps: run one after the other, each slice by slice to its end.
        every_s: how often it runs, in seconds.
    """

    name: str
    steps: Sequence[CleanStep]
    every_s: int = HOURLY_S

    @property
    def schedule(self) -> Schedule:
        """When it runs; one at a time, whatever the number of processes."""
        return Schedule(self.name, queue=self.name, task=self.name, lock_key=self.name, every_s=self.every_s)

    def tasks(self) -> Registry:
        """Return its task for the service's worker. A run that dies leaves the rest to the next one."""
        registry = Registry()

        @registry.register(self.name, backoff=Exponential(first_s=5.0, cap_s=300.0), resumes=True)
        async def clean_up(ctx: JobContext, _args: dict[str, Any]) -> AsyncIterator[Progress]:
            async with ctx.db.transaction() as tx:
                at = await server_time(tx)
            async for removed in self._slices(ctx.guarded_transaction, at):
                yield Progress(processed=removed)

        return registry

    async def run(self, database: Database, at: datetime) -> int:
        """Clean up as if it were `at`, without a job; returns how many rows went."""
        return max([removed async for removed in self._slices(database.transaction, at)], default=0)

    async def _slices(self, begin: Begin, at: datetime) -> AsyncIterator[int]:
        removed = 0
        for step in self.steps:
            cursor: Cursor | None = None
            is_done = False
            while not is_done:
                done = await step(begin, at, cursor)
                removed += done.processed
                cursor, is_done = done.next, done.next is None
                yield removed


def until_nothing_is_left(take: Callable[[Tx, datetime, int], Awaitable[int]], *, limit: int) -> CleanStep:
    """Return a step that calls `take` (transaction, time, number of rows at most) until it takes less than `limit`."""

    async def step(begin: Begin, at: datetime, _cursor: Cursor | None) -> Slice:
        async with begin() as tx:
            taken = await take(tx, at, limit)
        return Slice(next=True if taken >= limit else None, processed=taken)

    return step
