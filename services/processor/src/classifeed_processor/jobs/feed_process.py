"""The job feed.process: runs one task of a namespace to its end."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from classifeed_common.db import Tx
from classifeed_jobs import Exponential, FailedJob, JobContext, Registry
from classifeed_processor.app.runs.process_feed import process_feed
from classifeed_processor.app.runs.send_run import RunParts
from classifeed_processor.app.tasks.create_task import TASK
from classifeed_processor.app.tasks.fail_task import fail_task
from classifeed_processor.domain.tasks import TaskKey

registry = Registry()


class FeedProcessArgs(BaseModel):
    """Key of the task to run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seller_id: str
    namespace: str
    task_id: int

    @property
    def key(self) -> TaskKey:
        """The key of the task."""
        return TaskKey(self.seller_id, self.namespace, self.task_id)


async def end_unfinished(tx: Tx, args: FeedProcessArgs, job: FailedJob) -> None:
    """End the task in the transaction that ends its job."""
    await fail_task(tx, args.key, job)


# It continues from the task's phase, so a drain may stop it at once.
@registry.register(
    TASK, backoff=Exponential(first_s=1.0, cap_s=60.0), resumes=True, max_unknown_faults=5, on_failed=end_unfinished
)
async def feed_process(ctx: JobContext, args: FeedProcessArgs) -> None:
    """Run a task. The engine retries temporary faults without limit; the fifth other fault ends the task."""
    parts = ctx.resources
    assert isinstance(parts, RunParts)
    await process_feed(ctx, parts, args.key)
