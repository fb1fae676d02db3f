"""Sees to it that the loader still knows what it was told of the feeds, and has it told again what it lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import structlog
from prometheus_client import Counter

from classifeed.feeds.v1.feed_pb2 import FeedSourceState
from classifeed_api.app.verifying import verify_until
from classifeed_api.store import feeds
from classifeed_common.db import Database

LOST: Final = Counter("classifeed_api_lost_sources", "Feeds that the loader had known and knew no more")
_SLICE: Final = 500

log = structlog.get_logger(__name__)


class KnownSources(Protocol):
    """The loader, as this use case needs it."""

    async def get_states(self, names: Sequence[str]) -> Sequence[FeedSourceState]:
        """Returns a state for each resource name, in order; one that is not known has feed_version 0."""


class SourceVerifier:
    """Compares the loader's versions of all feeds with those that it acknowledged, again and again.

    A loader whose database went back knows feeds in older versions, or not at all, and nothing would tell it of them
    before their next change. Such feeds become due again. Only reads, unless something is lost; safe beside others.

    Args:
        db: with the feeds.
        loader: asked for its versions.
        on_lost: called when feeds became due again.
        interval_s: the pause between two comparisons, in seconds.
    """

    def __init__(self, db: Database, loader: KnownSources, *, on_lost: Callable[[], None], interval_s: float) -> None:
        self._db = db
        self._loader = loader
        self._on_lost = on_lost
        self._interval_s = interval_s

    async def run(self, stop: asyncio.Event) -> None:
        """Verify until `stop`; faults pass and are logged."""
        await verify_until(stop, self.verify, what="sources", interval_s=self._interval_s)

    async def verify(self) -> int:
        """Make due what the loader has lost, and return how many feeds those are.

        Raises:
            grpc.aio.AioRpcError: the loader does not answer.
        """
        lost = 0
        after: feeds.Published | None = None
        while True:
            async with self._db.transaction() as tx:
                published = await feeds.list_published(tx, after, limit=_SLICE)
            if not published:
                return lost
            states = await self._loader.get_states([feed.name for feed in published])
            gone = [feed for feed, state in zip(published, states, strict=True) if state.feed_version < feed.version]
            if gone:
                async with self._db.transaction() as tx:
                    lost += await feeds.forget_published(tx, gone)
                LOST.inc(len(gone))
                log.warning("api.sources.lost", feeds=len(gone), first=gone[0].name)
                self._on_lost()
            after = published[-1]
