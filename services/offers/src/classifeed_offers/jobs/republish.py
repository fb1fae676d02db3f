"""The job `offers.republish`: resets the publish marks of a scope to 0, slice by slice."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_jobs import Exponential, JobContext, JobStore, Registry, Slice, SliceJob
from classifeed_offers.store import republishing
from classifeed_offers.store.republishing import OfferKey, Scope

QUEUE: Final = "offers.republish"
TASK: Final = "offers.republish"
_SLICE_OFFERS: Final = 1000


class RepublishArgs(BaseModel):
    """A republication and its scope."""

    republication_id: int
    seller_id: str | None = None
    namespace: str | None = None

    @property
    def scope(self) -> Scope:
        """Scope of the republication."""
        return Scope(self.seller_id, self.namespace)


class RepublishJobs:
    """Starts the job in the transaction that begins a republication."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    async def start(self, tx: Tx, republication_id: int, scope: Scope) -> None:
        """Enqueue the job; jobs run one at a time. Retried without limit: until it is done, the search is stale."""
        args = RepublishArgs(republication_id=republication_id, seller_id=scope.seller_id, namespace=scope.namespace)
        await self._store.enqueue(tx, QUEUE, TASK, args, lock_key="offers.republish", max_attempts=None)


def register_republish(registry: Registry, *, slice_offers: int = _SLICE_OFFERS) -> None:
    """Add the task to a registry."""

    async def reset(tx: Tx, args: RepublishArgs, cursor: dict[str, Any] | None, _ctx: JobContext) -> Slice:
        """Reset the marks of unlocked offers in the order of their keys, then the locked ones one by one."""
        left_out: list[int] = list(cursor["left_out"]) if cursor else []
        after = args.scope.begin if cursor is None else cursor["after"] and OfferKey(*cursor["after"])
        if after is None:
            await republishing.reset_offer(tx, left_out.pop())
            offers = 1
        else:
            done = await republishing.reset_slice(tx, args.scope, after, slice_offers)
            left_out += done.left_out
            after, offers = done.last, done.offers
        await republishing.count_offers(tx, args.republication_id, offers)
        following = {"after": after, "left_out": left_out} if after or left_out else None
        return Slice(next=following, processed=offers)

    async def end(tx: Tx, args: RepublishArgs, _ctx: JobContext) -> None:
        await republishing.note_marked(tx, args.republication_id)

    job = SliceJob(reset, end)
    registry.register(TASK, args=RepublishArgs, backoff=Exponential(first_s=1, cap_s=30), resumes=True)(job.run)
