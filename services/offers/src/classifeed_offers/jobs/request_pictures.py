"""The job `offers.request-pictures`: requests the pictures of offers from before they were, namespace by namespace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import Exponential, JobContext, JobStore, Progress, Registry, Schedule, Slice, SliceJob, Snooze
from classifeed_offers.app.request_unrequested import request_unrequested
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.store import applying, picturing

TASK: Final = "offers.request-pictures"
QUEUE: Final = TASK
SCHEDULE: Final = Schedule(TASK, queue=QUEUE, task=TASK, lock_key=TASK, every_s=6 * 3600)
_SLICE_OFFERS: Final = 500
_SLICE_NAMESPACES: Final = 500


class RequestPicturesArgs(BaseModel):
    """Whose offers; without a namespace a job is started for each namespace there is."""

    seller_id: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class PictureCatchUp:
    """Requests what namespaces have not requested, each at a rate.

    A job for each, whose partition key is the seller: sellers take turns, and a job lets others run after each slice.

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
        self, tx: Tx, _args: RequestPicturesArgs, cursor: Sequence[str] | None, ctx: JobContext
    ) -> Slice:
        after = Namespace(*cursor) if cursor else Namespace("", "")
        found = await picturing.next_namespaces(tx, after=after, limit=_SLICE_NAMESPACES)
        for namespace in found:
            await self._start(tx, namespace, str(ctx.job_id))
        more: Any = found[-1] if len(found) == _SLICE_NAMESPACES else None
        return Slice(next=more, processed=len(found))

    async def _start(self, tx: Tx, namespace: Namespace, parent: str) -> None:
        """Enqueue the job of a namespace, once for each parent."""
        name = f"{namespace.seller_id}/{namespace.namespace}"
        await self.store().enqueue(
            tx,
            QUEUE,
            TASK,
            RequestPicturesArgs(seller_id=namespace.seller_id, namespace=namespace.namespace),
            lock_key=f"{TASK}:{name}",
            partition_key=namespace.seller_id,
            idempotency_key=f"{TASK}:{parent}:{name}",
        )

    async def _request_slice(self, tx: Tx, args: RequestPicturesArgs, cursor: str | None, _ctx: JobContext) -> Slice:
        namespace = Namespace(args.seller_id, args.namespace)
        await applying.lock_heads(tx, {namespace}, create=False)
        done = await request_unrequested(
            tx,
            namespace,
            after=cursor or "",
            limit=self.slice_offers,
            outbox=self.outbox,
            picture_namespace=self.picture_namespace,
        )
        return Slice(next=done.last, processed=done.offers)
