"""The job `pictures.check-stored`: removes stored pictures that no state holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_jobs import Exponential, JobContext, Registry, Schedule, Slice, SliceJob
from classifeed_pictures.app.files.check_stored import check_stored

TASK: Final = "pictures.check-stored"
_EVERY_S: Final = 86400
_PICTURES: Final = 500


class NoArgs(BaseModel):
    """No arguments: the job checks everything."""


@dataclass(frozen=True, slots=True)
class CheckStoredJob:
    """Checks all stored pictures once a day, one run at a time over all processes."""

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        return TASK

    @property
    def schedule(self) -> Schedule:
        """Schedule of the job. The next pass finds what a missed one would have found."""
        return Schedule(TASK, queue=TASK, task=TASK, lock_key=TASK, every_s=_EVERY_S, missed="skip")

    def tasks(self) -> Registry:
        """Return its task for the service's worker."""
        registry = Registry()

        async def look(tx: Tx, _args: NoArgs, cursor: list[str] | None, _ctx: JobContext) -> Slice:
            return await check_stored(tx, cursor, limit=_PICTURES)

        registry.register(TASK, args=NoArgs, backoff=Exponential(first_s=1, cap_s=60), resumes=True)(SliceJob(look).run)
        return registry
