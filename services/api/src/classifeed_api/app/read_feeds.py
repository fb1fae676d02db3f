"""Reads feeds, with how fetching goes as the loader has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import structlog

from classifeed.feeds.v1.feed_pb2 import FeedSourceState
from classifeed_api.domain.feeds import Feed
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import feeds
from classifeed_common.db import Database

log = structlog.get_logger(__name__)


class FeedWithState(NamedTuple):
    """A feed, and its state at the loader: None while the loader does not know it or cannot be asked."""

    feed: Feed
    state: FeedSourceState | None


class States(Protocol):
    """The loader, as this use case needs it."""

    async def get_states(self, names: Sequence[str]) -> Sequence[FeedSourceState]:
        """Returns a state for each name, in order; raises soon when the loader cannot be asked."""


class ReadFeeds:
    """Reads never fail for the loader's sake."""

    def __init__(self, db: Database, states: States) -> None:
        self._db = db
        self._states = states

    async def get(self, key: NamespaceKey, *, timeout_s: float | None) -> FeedWithState:
        """Returns the feed of a namespace, a removed one too.

        Raises:
            NotFound: the namespace never had a feed.
        """
        async with self._db.transaction(timeout_s=timeout_s) as tx:
            feed = await feeds.require(tx, key)
        [found] = await self._with_states([feed])
        return found

    async def list(
        self, seller_id: str, *, after: str, limit: int, timeout_s: float | None
    ) -> tuple[Sequence[FeedWithState], bool]:
        """Returns at most `limit` feeds of a seller behind the namespace `after`, and whether there are more."""
        async with self._db.transaction(timeout_s=timeout_s) as tx:
            found = await feeds.list_by_seller(tx, seller_id, after=after, limit=limit + 1)
        return await self._with_states(found[:limit]), len(found) > limit

    async def _with_states(self, found: Sequence[Feed]) -> Sequence[FeedWithState]:
        if not found:
            return []
        try:
            states = await self._states.get_states([feed.key.name for feed in found])
        except Exception as error:  # noqa: BLE001 - the state is an extra, whatever keeps the loader from telling it
            log.warning("api.source_states.failed", error=str(error))
            return [FeedWithState(feed, None) for feed in found]
        return [
            FeedWithState(feed, state if state.feed_version else None)
            for feed, state in zip(found, states, strict=True)
        ]
