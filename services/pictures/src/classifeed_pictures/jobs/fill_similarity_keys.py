"""The job `pictures.fill-similarity-keys`: keys for stored pictures of the version before, which had none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_jobs import Exponential, JobContext, Registry, Schedule, Slice, SliceJob
from classifeed_pictures.store.similar import fill_keys

TASK: Final = "pictures.fill-similarity-keys"
_EVERY_S: Final = 3600
_ROWS: Final = 500
_BEGIN: Final = ("", -1, "")


class NoArgs(BaseModel):
    """Nothing: an index says which rows have no key."""


@dataclass(frozen=True, slots=True)
class FillSimilarityKeysJob:
    """Fills what it finds without a key, hour by hour: processes of the version before may still write such rows."""

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        return TASK

    @property
    def schedule(self) -> Schedule:
        """When it runs."""
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
