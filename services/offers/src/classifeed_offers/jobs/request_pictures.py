"""The job `offers.request-pictures`: requests pictures of offers, namespace by namespace.

The schedule requests pictures that were never requested; an operator can request all of them again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import Exponential, JobContext, JobStore, Progress, Registry, Schedule, Slice, SliceJob, Snooze
from classifeed_offers.app.pictures.request_next_offers import request_next_offers
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.store import applying, picturing

TASK: Final = "offers.request-pictures"
QUEUE: Final = TASK
SCHEDULE: Final = Schedule(TASK, queue=QUEUE, task=TASK, lock_key=TASK, every_s=6 * 3600)
# Maximum offers per second and namespace. The service of pictures downloads them while new loads come in.
_OFFERS_PER_S: Final = 50.0
_SLICE_OFFERS: Final = 500
_SLICE_NAMESPACES: Final = 500


class RequestPicturesArgs(BaseModel):
    """Scope of the offers and pictures.

    Attributes:
        seller_id: id of the seller; empty: all sellers.
        namespace: namespace of the seller; empty: the job starts one job for each namespace.
        again: whether links that were requested before are requested again.
    """

    seller_id: str = ""
    namespace: str = ""
    again: bool = False


async def enqueue_again(
    store: JobStore, tx: Tx, *, seller_id: str = "", namespace: str = "", request_id: str = ""
) -> UUID:
    """Enqueue the job that requests all pictures of some or all offers again, and return its id.

    Args:
        store: store of the jobs.
        tx: transaction that enqueues the job.
        seller_id: id of the seller; empty: all sellers.
        namespace: namespace of the seller; empty: all.
        request_id: id that makes repeated requests idempotent; empty: each request counts.
    """
    args = RequestPicturesArgs(seller_id=seller_id, namespace=namespace, again=True)
    name = f"{seller_id}/{namespace}" if namespace else f"again:{seller_id}"
    enqueued = await store.enqueue(
        tx,
        QUEUE,
        TASK,
        args,
        lock_key=f"{TASK}:{name}",
        partition_key=seller_id or None,
        idempotency_key=f"{TASK}:again:{request_id}" if request_id else None,
        max_attempts=None,
    )
    return enqueued.job_id


@dataclass(frozen=True, slots=True)
class PictureCatchUp:
    """Requests pictures of namespaces, each at a limited rate.

    Each namespace has a job with the seller as partition key. A job yields after each slice, so sellers take turns. The
    worker's resources are the store of the jobs.

    Attributes:
        outbox: sends the requests.
        rate: maximum offers per second and namespace.
        slice_offers: offers that one transaction reads.
    """

    outbox: Outbox
    rate: float = _OFFERS_PER_S
    slice_offers: int = _SLICE_OFFERS

    def register(self, registry: Registry) -> None:
        """Add the task to a registry."""

        @registry.register(TASK, backoff=Exponential(first_s=1, cap_s=60), resumes=True)
        async def request_pictures(ctx: JobContext, args: RequestPicturesArgs) -> AsyncIterator[Progress]:
            """Work slice by slice; other jobs run between two slices that requested anything.

            Raises:
                Snooze: the next slice would exceed the rate.
            """
            if not args.namespace:
                async for progress in SliceJob(self._start_each).run(ctx, args):
                    yield progress
                return
            before = (ctx.checkpoint or {"processed": 0})["processed"]
            async for progress in SliceJob(self._request_slice).run(ctx, args):
                yield progress
                self.outbox.wake()
                if progress.processed > before:
                    raise Snooze((progress.processed - before) / self.rate)

    async def _start_each(
        self, tx: Tx, args: RequestPicturesArgs, cursor: Sequence[str] | None, ctx: JobContext
    ) -> Slice:
        after = Namespace(*cursor) if cursor else Namespace("", "")
        only = args.seller_id or None
        found = await picturing.next_namespaces(tx, after=after, only_seller=only, limit=_SLICE_NAMESPACES)
        for namespace in found:
            await _start(ctx, tx, namespace, again=args.again)
        more: Any = found[-1] if len(found) == _SLICE_NAMESPACES else None
        return Slice(next=more, processed=len(found))

    async def _request_slice(self, tx: Tx, args: RequestPicturesArgs, cursor: str | None, _ctx: JobContext) -> Slice:
        namespace = Namespace(args.seller_id, args.namespace)
        await applying.lock_heads(tx, {namespace}, create=False)
        done = await request_next_offers(
            tx,
            namespace,
            after=cursor or "",
            limit=self.slice_offers,
            again=args.again,
            outbox=self.outbox,
        )
        return Slice(next=done.last, processed=done.offers)


async def _start(ctx: JobContext, tx: Tx, namespace: Namespace, *, again: bool) -> None:
    """Enqueue the job of a namespace, once for each parent job."""
    store: JobStore = ctx.resources
    name = f"{namespace.seller_id}/{namespace.namespace}"
    await store.enqueue(
        tx,
        QUEUE,
        TASK,
        RequestPicturesArgs(seller_id=namespace.seller_id, namespace=namespace.namespace, again=again),
        lock_key=f"{TASK}:{name}",
        partition_key=namespace.seller_id,
        idempotency_key=f"{TASK}:{ctx.job_id}:{name}",
        max_attempts=None,  # pictures are missing until the job is done
    )
