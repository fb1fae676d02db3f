"""The job `pictures.close-event-gaps`: has offers request its pictures again after events were lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from classifeed_common.db import Database, Tx
from classifeed_jobs import Exponential, JobContext, JobStore, Registry, Schedule
from classifeed_pictures.app.states.close_event_gaps import CloseEventGaps
from classifeed_pictures.store.events import event_gaps

TASK: Final = "pictures.close-event-gaps"
_EVERY_S: Final = 3600


async def open_gap(tx: Tx, cause: str, *, store: JobStore) -> None:
    """Record that events may be missing, and enqueue a job that closes the gap."""
    await event_gaps.open_gap(tx, cause)
    await store.enqueue(tx, TASK, TASK, {}, lock_key=TASK)


async def enqueue_closing(database: Database, store: JobStore) -> None:
    """Enqueue a job for gaps that were opened without one, such as the first gap of an empty database."""
    async with database.transaction() as tx:
        if gaps := await event_gaps.list_open(tx):
            await store.enqueue(tx, TASK, TASK, {}, lock_key=TASK, idempotency_key=f"{TASK}/{gaps[-1].gap_id}")


@dataclass(frozen=True, slots=True)
class CloseEventGapsJob:
    """Closes gaps, one run at a time over all processes.

    Attributes:
        close: use case that closes gaps.
    """

    close: CloseEventGaps

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        return TASK

    @property
    def schedule(self) -> Schedule:
        """Schedule of the job, for gaps whose job failed permanently."""
        return Schedule(TASK, queue=TASK, task=TASK, lock_key=TASK, every_s=_EVERY_S, missed="skip")

    def tasks(self) -> Registry:
        """Return its task for the service's worker."""
        registry = Registry()

        @registry.register(TASK, backoff=Exponential(first_s=5, cap_s=600))
        async def close_event_gaps(_ctx: JobContext, _args: dict[str, Any]) -> None:
            await self.close()

        return registry
