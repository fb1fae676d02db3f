"""The job `pictures.look-again`: a pass over the states whose next attempt is due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from classifeed_common.db import Database, Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import Exponential, JobContext, Registry, Schedule, Slice, SliceJob
from classifeed_pictures.app.states.find_due import find_due

TASK: Final = "pictures.look-again"
_STATES: Final = 500


class NoArgs(BaseModel):
    """No arguments: the job checks everything."""


@dataclass(frozen=True, slots=True)
class LookAgainJob:
    """Finds due states periodically, one run at a time over all processes.

    Attributes:
        outbox: outbox for the notices.
        every_s: seconds between two passes.
        replica: database from which states are read; None: the service's database.
    """

    outbox: Outbox
    every_s: int
    replica: Database | None = None

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        return TASK

    @property
    def schedule(self) -> Schedule:
        """Schedule of the job. The next pass finds what a missed one would have found."""
        return Schedule(TASK, queue=TASK, task=TASK, lock_key=TASK, every_s=self.every_s, missed="skip")

    def tasks(self) -> Registry:
        """Return its task for the service's worker."""
        registry = Registry()

        async def look(tx: Tx, _args: NoArgs, cursor: list[str] | None, _ctx: JobContext) -> Slice:
            if self.replica is None:
                return await find_due(tx, tx, cursor, outbox=self.outbox, limit=_STATES)
            async with self.replica.transaction() as read:
                return await find_due(read, tx, cursor, outbox=self.outbox, limit=_STATES)

        registry.register(TASK, args=NoArgs, backoff=Exponential(first_s=1, cap_s=60), resumes=True)(SliceJob(look).run)
        return registry
