"""The job `offers.request-pictures`: requests pictures of offers, namespace by namespace.

By schedule those that were never requested; when somebody says so, all of them again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
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
_SLICE_OFFERS: Final = 500
_SLICE_NAMESPACES: Final = 500


class RequestPicturesArgs(BaseModel):
    """Whose offers, and which pictures.

    Attributes:
        seller_id: the seller; empty: all.
        namespace: of the seller; empty: a job is started for each namespace.
        again: whether links that were requested before are requested, too.
    """

    seller_id: str = ""
    namespace: str = ""
    again: bool = False


async def enqueue_again(
    store: JobStore, tx: Tx, *, seller_id: str = "", namespace: str = "", request_id: str = ""
) -> UUID:
    """Enqueue the job that requests all pictures again, of all offers or some, and return it.

    Args:
        seller_id: whose; empty: all sellers'.
        namespace: of the seller; empty: all.
        request_id: names the request, so that a repeated one enqueues nothing further; empty: each counts.
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
    """Requests pictures of namespaces, each at a rate.

    A job for each, whose partition key is the seller: sellers are served in rotation, as a job yields after each slice.

    Attributes:
        outbox: takes the requests.
        store: returns where the jobs are.
        picture_namespace: keeps the pictures of offers.
        rate: offers of a namespace a second, at most.
        slice_offers: offers that are looked at in a transaction.
    """

    outbox: Outbox
    store: Callable[[], JobStore]
    picture_namespace: str
    rate: float
    slice_offers: int = _SLICE_OFFERS

    def register(self, registry: Registry) -> None:
        """Add the task to a registry."""

        @registry.register(TASK, backoff=Exponential(first_s=1, cap_s=60), resumes=True)
        async def request_pictures(ctx: JobContext, args: RequestPicturesArgs) -> AsyncIterator[Progress]:
            """Go slice by slice; between two slices that requested anything, others run.

            Raises:
                Snooze: the rate would be exceeded.
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
            await self._start(tx, namespace, str(ctx.job_id), again=args.again)
        more: Any = found[-1] if len(found) == _SLICE_NAMESPACES else None
        return Slice(next=more, processed=len(found))

    async def _start(self, tx: Tx, namespace: Namespace, parent: str, *, again: bool) -> None:
        """Enqueue the job of a namespace, once for each parent."""
        name = f"{namespace.seller_id}/{namespace.namespace}"
        await self.store().enqueue(
            tx,
            QUEUE,
            TASK,
            RequestPicturesArgs(seller_id=namespace.seller_id, namespace=namespace.namespace, again=again),
            lock_key=f"{TASK}:{name}",
            partition_key=namespace.seller_id,
            idempotency_key=f"{TASK}:{parent}:{name}",
            max_attempts=None,  # pictures are missing until it is done
        )

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
            picture_namespace=self.picture_namespace,
        )
        return Slice(next=done.last, processed=done.offers)
