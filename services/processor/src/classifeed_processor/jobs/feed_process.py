"""The job feed.process: runs one task of a namespace to its end."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from classifeed_jobs import Exponential, JobContext, Registry
from classifeed_processor.app.create_task import TASK
from classifeed_processor.app.process_feed import process_feed
from classifeed_processor.app.send_run import RunParts
from classifeed_processor.domain.tasks import TaskKey

registry = Registry()


class FeedProcessArgs(BaseModel):
    """Which task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seller_id: str
    namespace: str
    task_id: int


# It goes on by the task's phase, so a drain may stop it at once.
@registry.register(TASK, backoff=Exponential(first_s=1.0, cap_s=60.0), resumes=True)
async def feed_process(ctx: JobContext, args: FeedProcessArgs) -> None:
    """Runs the task. Passing faults raise, and the engine tries again for as long as they last."""
    parts = ctx.resources
    assert isinstance(parts, RunParts)
    await process_feed(ctx, parts, TaskKey(args.seller_id, args.namespace, args.task_id))
