"""Starts a fetch of a feed."""

from __future__ import annotations

from typing import Protocol
from uuid import uuid4

from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed.feeds.v1.feed_source_service_pb2 import SourceRecord
from classifeed_api.domain.feeds import source_of
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import feeds
from classifeed_common.db import Database


class Runner(Protocol):
    """The loader, as this use case needs it."""

    async def run_source(self, source: SourceRecord, *, force: bool, request_id: str) -> Fetch:
        """Store the source and return the fetch that it queued; idempotent by request_id."""


class RunFeed:
    """Sends the whole feed to the loader, so that a feed that was not pushed yet runs, too."""

    def __init__(self, database: Database, loader: Runner) -> None:
        self._database = database
        self._loader = loader

    async def __call__(
        self, key: NamespaceKey, *, force: bool, request_id: str | None, timeout_s: float | None
    ) -> Fetch:
        """Return the fetch. The same request_id returns the same fetch.

        Raises:
            NotFound: the namespace never had a feed or an upload.
            FailedPrecondition: the feed was deleted, or has no link.
            Unavailable: the loader does not respond.
        """
        async with self._database.transaction(timeout_s=timeout_s) as tx:
            feed = await feeds.get_link(tx, key)
        return await self._loader.run_source(source_of(feed), force=force, request_id=request_id or str(uuid4()))
