"""The job `pictures.fill-similarity-keys`: adds keys to pictures that were stored by the previous release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_jobs import Exponential, JobContext, Registry, Schedule, Slice, SliceJob
from classifeed_pictures.store.states.similar import fill_keys

TASK: Final = "pictures.fill-similarity-keys"
_EVERY_S: Final = 3600
_ROWS: Final = 500
_BEGIN: Final = ("", -1, "")


class NoArgs(BaseModel):
    """No arguments: an index finds the rows without a key."""


@dataclass(frozen=True, slots=True)
class FillSimilarityKeysJob:
    """Fills rows without a key every hour, since processes of the previous release may still write some."""

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        return TASK

    @property
    def schedule(self) -> Schedule:
        """Schedule of the job."""
        return Schedule(TASK, queue=TASK, task=TASK, lock_key=TASK, every_s=_EVERY_S, missed="skip")

    def tasks(self) -> Registry:
        """Return its task for the service's worker."""
        registry = Registry()

        async def fill(tx: Tx, _args: NoArgs, cursor: list[Any] | None, _ctx: JobContext) -> Slice:
            namespace, group_id, name = cursor or _BEGIN
            filled = await fill_keys(tx, (namespace, group_id, name), _ROWS)
            return Slice(next=list(filled[-1]) if len(filled) == _ROWS else None, processed=len(filled))

        registry.register(TASK, args=NoArgs, backoff=Exponential(first_s=1, cap_s=60), resumes=True)(SliceJob(fill).run)
        return registry
