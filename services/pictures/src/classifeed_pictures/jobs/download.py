"""The job `pictures.download`: downloads one picture.

Its partition is the recipient, so that recipients share the slots evenly, even if their pictures are on many hosts. Its
lock is one of a few places per host, so that jobs that wait for a slow host hold no slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed.pictures.v1.orders_pb2 import DownloadOrder
from classifeed_common.db import Tx
from classifeed_common.fetch import HostPaused
from classifeed_common.fetch.addresses.urls import host_of
from classifeed_jobs import Exponential, FailedJob, JobContext, JobRequest, JobStore, Registry, Snooze
from classifeed_pictures.app.events.report_load import ReportLoad
from classifeed_pictures.app.files.check_robots import RulesPending
from classifeed_pictures.app.files.download_picture import DownloadPicture
from classifeed_pictures.domain.lifecycle.order_keys import download_key
from classifeed_pictures.jobs.orders import OrderArgs

QUEUE: Final = "pictures.download"
TASK: Final = "pictures.download"
_LONGEST_S: Final = 300.0
_PRIORITY: Final = 100
_REFRESH_PRIORITY: Final = 200  # no request waits for a refresh, so requested downloads come first
_SHORTEST_PAUSE_S: Final = 0.5
_PENDING_S: Final = 1.0
# One job downloads while another one decodes and stores.
_PLACES_PER_DOWNLOAD: Final = 2


async def enqueue_downloads(
    store: JobStore, tx: Tx, orders: Sequence[DownloadOrder], *, downloads_per_host: int
) -> None:
    """Enqueue the jobs of orders; a repeated order creates no second job."""
    places = downloads_per_host * _PLACES_PER_DOWNLOAD
    requests = {
        key: JobRequest(
            queue=QUEUE,
            task=TASK,
            args=OrderArgs.of(order).model_dump(),
            idempotency_key=key,
            partition_key=order.recipient or None,
            lock_key=f"{TASK}/{host_of(order.url)}/{int.from_bytes(order.url_hash[:4], 'big') % places}",
            priority=_REFRESH_PRIORITY if order.HasField("held") else _PRIORITY,
        )
        for order in orders
        if (key := download_key(order.url_hash, order.attempt))
    }
    await store.enqueue_many(tx, list(requests.values()))


def register_download(registry: Registry, download: DownloadPicture, reporter: ReportLoad) -> None:
    """Add the task to a registry."""

    async def report_failed(tx: Tx, args: OrderArgs, job: FailedJob) -> None:
        await reporter.report_fault(tx, DownloadOrder.FromString(args.message), job)

    @registry.register(
        TASK,
        backoff=Exponential(first_s=1, cap_s=60),
        max_run_s=_LONGEST_S,
        max_unknown_faults=5,
        on_failed=report_failed,
    )
    async def download_picture(ctx: JobContext, args: OrderArgs) -> None:
        """Download and store a picture, and report the outcome."""
        order = DownloadOrder.FromString(args.message)
        try:
            loading = await download(order, begin=ctx.guarded_transaction)
        except HostPaused as paused:
            raise Snooze(max(paused.wait_s, _SHORTEST_PAUSE_S)) from paused
        except RulesPending as pending:
            raise Snooze(_PENDING_S) from pending
        async with ctx.guarded_transaction() as tx:
            await reporter.report(tx, order, loading.outcome, fresh_for_s=loading.fresh_for_s)
