"""The job `pictures.resize`: makes the sizes that a copy needs and its source lacks."""

from __future__ import annotations

from typing import Final

from classifeed.pictures.v1.orders_pb2 import CopyOrder
from classifeed_common.db import Tx
from classifeed_jobs import Exponential, FailedJob, JobContext, JobStore, Registry
from classifeed_pictures.app.events.report_load import ReportLoad
from classifeed_pictures.app.files.resize_picture import ResizePicture
from classifeed_pictures.domain.lifecycle.order_keys import resize_key
from classifeed_pictures.jobs.orders import OrderArgs

QUEUE: Final = "pictures.resize"
TASK: Final = "pictures.resize"
_LONGEST_S: Final = 120.0


async def enqueue_resize(store: JobStore, tx: Tx, order: CopyOrder) -> None:
    """Enqueue the job of an order; a repeated order creates no second job."""
    key = resize_key(order.url_hash, order.attempt)
    await store.enqueue(tx, QUEUE, TASK, OrderArgs.of(order), idempotency_key=key)


def register_resize(registry: Registry, resize: ResizePicture, reporter: ReportLoad) -> None:
    """Add the task to a registry."""

    async def report_failed(tx: Tx, args: OrderArgs, job: FailedJob) -> None:
        await reporter.report_fault(tx, CopyOrder.FromString(args.message), job)

    @registry.register(
        TASK,
        backoff=Exponential(first_s=1, cap_s=60),
        max_run_s=_LONGEST_S,
        max_unknown_faults=5,
        on_failed=report_failed,
    )
    async def resize_picture(ctx: JobContext, args: OrderArgs) -> None:
        """Make the sizes, and report the copy."""
        order = CopyOrder.FromString(args.message)
        outcome = await resize(order, begin=ctx.guarded_transaction)
        async with ctx.guarded_transaction() as tx:
            await reporter.report(tx, order, outcome)
