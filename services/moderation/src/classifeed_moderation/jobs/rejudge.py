"""The job `moderation.rejudge`: judges stored verdicts by the current rules, slice by slice."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_jobs import Exponential, JobContext, JobStore, Registry, Slice, SliceJob
from classifeed_moderation.app.decisions.record_decisions import Deciding
from classifeed_moderation.app.decisions.rejudge_texts import rejudge_slice
from classifeed_moderation.domain.subjects import Kind

QUEUE: Final = "moderation.rejudge"
TASK: Final = "moderation.rejudge"


class RejudgeArgs(BaseModel):
    """Rejudgement and its texts."""

    request_id: str
    kind: Kind | None = None
    is_dry_run: bool = False


async def enqueue_rejudge(store: JobStore, tx: Tx, args: RejudgeArgs) -> None:
    """Enqueue the job; jobs run one at a time."""
    await store.enqueue(tx, QUEUE, TASK, args, lock_key=TASK, max_attempts=None)


def register_rejudge(registry: Registry, deciding: Deciding) -> None:
    """Add the task to a registry."""

    async def judge(tx: Tx, args: RejudgeArgs, cursor: str | None, _ctx: JobContext) -> Slice:
        following, judged = await rejudge_slice(
            tx,
            deciding,
            request_id=args.request_id,
            kind=args.kind,
            is_dry_run=args.is_dry_run,
            after=cursor or "",
        )
        return Slice(next=following, processed=judged)

    job = SliceJob(judge)
    registry.register(TASK, args=RejudgeArgs, backoff=Exponential(first_s=1, cap_s=30), resumes=True)(job.run)
