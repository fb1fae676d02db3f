"""The job `moderation.republish`: resets the publish marks of all points, slice by slice."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import structlog
from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_domain.publishing import Loss
from classifeed_jobs import Exponential, JobContext, JobStore, Registry, Slice, SliceJob
from classifeed_moderation.metrics import REPUBLICATIONS
from classifeed_moderation.store import publishing

QUEUE: Final = "moderation.republish"
TASK: Final = "moderation.republish"
_SLICE_POINTS: Final = 1000
_FIRST: Final = UUID(int=0)
_log = structlog.get_logger(__name__)


class RepublishArgs(BaseModel):
    """Reason of the republication."""

    reason: str


async def enqueue_republish(store: JobStore, tx: Tx, loss: Loss) -> None:
    """Enqueue the job; jobs run one at a time. It is retried without limit: until then the search is out of date."""
    await store.enqueue(tx, QUEUE, TASK, RepublishArgs(reason=loss), lock_key=TASK, max_attempts=None)
    REPUBLICATIONS.labels(loss.name.lower()).inc()
    _log.warning("moderation.republication.begun", reason=str(loss))


def register_republish(registry: Registry) -> None:
    """Add the task to a registry."""

    async def reset(tx: Tx, _args: RepublishArgs, cursor: str | None, _ctx: JobContext) -> Slice:
        """Reset marks in the order of the ids."""
        points = await publishing.reset_slice(tx, UUID(cursor) if cursor else _FIRST, _SLICE_POINTS)
        return Slice(next=str(points[-1]) if len(points) == _SLICE_POINTS else None, processed=len(points))

    job = SliceJob(reset)
    registry.register(TASK, args=RepublishArgs, backoff=Exponential(first_s=1, cap_s=30), resumes=True)(job.run)
