"""The job `pictures.compare`: finds pictures that no offer uses, once a day."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_jobs import Exponential, JobContext, JobStore, Progress, Registry, Schedule
from classifeed_pictures.app.states.compare_pictures import ComparePictures

TASK: Final = "pictures.compare"


class CompareArgs(BaseModel):
    """The comparison to continue; None: a new one."""

    comparison_id: int | None = None


async def enqueue_confirmed(store: JobStore, tx: Tx, comparison_id: int) -> None:
    """Enqueue the rest of a confirmed comparison."""
    key = f"compare/{comparison_id}"
    await store.enqueue(tx, TASK, TASK, CompareArgs(comparison_id=comparison_id), lock_key=TASK, idempotency_key=key)


@dataclass(frozen=True, slots=True)
class CompareJob:
    """Compares periodically, one run at a time over all processes.

    Attributes:
        compare: use case that compares.
        every_s: seconds between two comparisons.
    """

    compare: ComparePictures
    every_s: int

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        return TASK

    @property
    def schedule(self) -> Schedule:
        """Schedule of the job."""
        return Schedule(TASK, queue=TASK, task=TASK, lock_key=TASK, every_s=self.every_s)

    def tasks(self) -> Registry:
        """Return its task for the service's worker."""
        registry = Registry()

        @registry.register(TASK, backoff=Exponential(first_s=10, cap_s=600), resumes=True)
        async def compare_pictures(ctx: JobContext, args: CompareArgs) -> AsyncIterator[Progress]:
            async for progress in self.compare(ctx, args.comparison_id):
                yield progress

        return registry
