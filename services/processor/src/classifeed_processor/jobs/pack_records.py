"""The job processor.pack-records: packs the issues of an ended load into one file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from classifeed_jobs import Exponential, JobContext, Registry
from classifeed_processor.app.issues.pack_issues import pack_issues
from classifeed_processor.app.issues.schedule_packing import TASK
from classifeed_processor.app.runs.send_run import RunParts
from classifeed_processor.domain.tasks import TaskKey

packing = Registry()


class PackRecordsArgs(BaseModel):
    """Key of the load's task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seller_id: str
    namespace: str
    task_id: int


@packing.register(TASK, backoff=Exponential(first_s=5.0, cap_s=300.0), resumes=True)
async def pack_records(ctx: JobContext, args: PackRecordsArgs) -> None:
    """Pack the issues of a load. Every fault is retried; `list_failed_packings` reports lasting ones."""
    parts = ctx.resources
    assert isinstance(parts, RunParts)
    await pack_issues(ctx, parts.blobs, parts.spool_dir, TaskKey(args.seller_id, args.namespace, args.task_id))
