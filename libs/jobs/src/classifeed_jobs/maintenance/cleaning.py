"""CleanUp: a scheduled job that deletes expired rows in small steps (ADR 0036)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
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
"""Deletes a bounded number of rows. Arguments: a function that begins a transaction, the time to compute ages from, and
the cursor (None at the start). It must be idempotent, as it may be called again for the same slice. It may call other
services between its transactions, but not inside them."""

HOURLY_S: Final = 3600
_ROWS: Final = 2000


class Upkeep(Protocol):
    """A task with a queue and a schedule of the same name. `ServiceJobs` adds it to the service's other tasks."""

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        ...

    @property
    def schedule(self) -> Schedule:
        """Schedule of its jobs."""
        ...

    def tasks(self) -> Registry:
        """Return a registry with its task, for the service's worker."""
        ...


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The clean-up of one service.

    Attributes:
        name: Name of its queue, task and schedule, such as `offers.clean-up`.
        steps: Steps that run in order, each slice by slice until it is done.
        every_s: Seconds between two runs.
    """

    name: str
    steps: Sequence[CleanStep]
    every_s: int = HOURLY_S

    @classmethod
    def by_age(cls, name: str, ages: Mapping[str, timedelta]) -> CleanUp:
        """Return a clean-up that deletes rows by their age.

        Args:
            name: Name of its queue, task and schedule.
            ages: Age from which a statement deletes rows, by its SQL with the parameters `before` (a time) and `limit`.
        """
        return cls(
            name,
            [until_nothing_is_left(partial(_delete_aged, *each), limit=_ROWS) for each in ages.items()],
        )

    @property
    def schedule(self) -> Schedule:
        """Schedule of the clean-up; one runs at a time over all processes."""
        return Schedule(self.name, queue=self.name, task=self.name, lock_key=self.name, every_s=self.every_s)

    def tasks(self) -> Registry:
        """Return a registry with its task, for the service's worker. If a run dies, the next run does the rest."""
        registry = Registry()

        @registry.register(self.name, backoff=Exponential(first_s=5.0, cap_s=300.0), resumes=True)
        async def clean_up(ctx: JobContext, _args: dict[str, Any]) -> AsyncIterator[Progress]:
            async with ctx.db.transaction() as tx:
                at = await server_time(tx)
            async for removed in self._slices(ctx.guarded_transaction, at):
                yield Progress(processed=removed)

        return registry

    async def run(self, database: Database, at: datetime) -> int:
        """Clean up without a job, as if the time were `at`; return the number of deleted rows."""
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
    """Return a step that calls `take(transaction, time, limit)` until it deletes fewer than `limit` rows."""

    async def step(begin: Begin, at: datetime, _cursor: Cursor | None) -> Slice:
        async with begin() as tx:
            taken = await take(tx, at, limit)
        return Slice(next=True if taken >= limit else None, processed=taken)

    return step


async def _delete_aged(statement: str, age: timedelta, tx: Tx, at: datetime, limit: int) -> int:
    return (await tx.execute(statement, {"before": at - age, "limit": limit})).rowcount
