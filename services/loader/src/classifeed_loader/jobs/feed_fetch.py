"""The job feed.fetch: runs one fetch to its end."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from classifeed_jobs import Exponential, JobContext, Registry
from classifeed_loader.app.fetch_feed import fetch_feed
from classifeed_loader.app.fetch_parts import FetchParts
from classifeed_loader.app.queue_fetches import TASK
from classifeed_loader.domain.fetches import FetchKey

registry = Registry()


class FeedFetchArgs(BaseModel):
    """Which fetch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seller_id: str
    namespace: str
    fetch_id: int


# It goes on by what is noted of the fetch, so a drain may stop it at once.
@registry.register(TASK, backoff=Exponential(first_s=1.0, cap_s=60.0), resumes=True)
async def feed_fetch(ctx: JobContext, args: FeedFetchArgs) -> None:
    """Runs the fetch. Passing faults raise, and the engine tries again for as long as they last."""
    parts = ctx.resources
    assert isinstance(parts, FetchParts)
    await fetch_feed(ctx, parts, FetchKey(args.seller_id, args.namespace, args.fetch_id))
