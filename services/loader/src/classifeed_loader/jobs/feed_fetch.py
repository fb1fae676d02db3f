"""The job feed.fetch: runs one fetch to its completion."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from classifeed_common.db import Tx
from classifeed_jobs import Exponential, FailedJob, JobContext, Registry
from classifeed_loader.app.complete_fetch import FetchWaits, fail_fetch
from classifeed_loader.app.fetch_dependencies import FetchDependencies
from classifeed_loader.app.fetch_feed import fetch_feed
from classifeed_loader.app.queue_fetches import TASK
from classifeed_loader.domain.fetches import FetchKey


class FeedFetchArgs(BaseModel):
    """The key of the fetch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seller_id: str
    namespace: str
    fetch_id: int

    @property
    def key(self) -> FetchKey:
        """The key as a FetchKey."""
        return FetchKey(self.seller_id, self.namespace, self.fetch_id)


def fetch_registry(waits: FetchWaits) -> Registry:
    """Return the tasks of this service for its worker."""
    registry = Registry()

    async def end_unfinished(tx: Tx, args: FeedFetchArgs, job: FailedJob) -> None:
        await fail_fetch(tx, args.key, job, waits)

    # The job resumes from the stored state of the fetch, so a drain may stop it at once.
    @registry.register(
        TASK, backoff=Exponential(first_s=1.0, cap_s=60.0), resumes=True, max_unknown_faults=5, on_failed=end_unfinished
    )
    async def feed_fetch(ctx: JobContext, args: FeedFetchArgs) -> None:
        """Run the fetch. The engine retries transient faults without limit; the fifth unknown fault fails the fetch."""
        dependencies = ctx.resources
        assert isinstance(dependencies, FetchDependencies)
        await fetch_feed(ctx, dependencies, args.key)

    return registry
