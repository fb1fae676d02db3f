"""Reads feeds with their fetch state from the loader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import structlog

from classifeed.feeds.v1.feed_pb2 import FeedSourceState
from classifeed_api.app.feeds.join_loads import JoinLoads
from classifeed_api.domain.feeds import Feed
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.store import feeds
from classifeed_common.db import Database
from classifeed_common.telemetry.fault_log import log_fault

log = structlog.get_logger(__name__)


class FeedWithState(NamedTuple):
    """A feed and its state at the loader; None if the loader does not know it or does not respond."""

    feed: Feed
    state: FeedSourceState | None


class States(Protocol):
    """The loader, as this use case needs it."""

    async def list_states(self, names: Sequence[str]) -> Sequence[FeedSourceState]:
        """Return a state for each name, in order; raises soon if the loader does not respond."""


class ReadFeeds:
    """Reads feeds. Reads never fail because the loader or the processor does."""

    def __init__(self, database: Database, states: States, join_loads: JoinLoads) -> None:
        self._database = database
        self._states = states
        self._join_loads = join_loads

    async def get(self, key: NamespaceKey, *, timeout_s: float | None) -> FeedWithState:
        """Return the source of a namespace: its feed by link, its uploads, or its removed feed.

        Raises:
            NotFound: the namespace never had a feed or an upload.
        """
        async with self._database.transaction(timeout_s=timeout_s) as tx:
            feed = await feeds.get(tx, key)
        [found] = await self._with_states([feed])
        return found

    async def list(
        self, seller_id: str, *, after: str, limit: int, timeout_s: float | None
    ) -> tuple[Sequence[FeedWithState], bool]:
        """Return the sources of at most `limit` namespaces of a seller after `after`, and whether there are more."""
        async with self._database.transaction(timeout_s=timeout_s) as tx:
            found = await feeds.list_by_seller(tx, seller_id, after=after, limit=limit + 1)
        return await self._with_states(found[:limit]), len(found) > limit

    async def _with_states(self, found: Sequence[Feed]) -> Sequence[FeedWithState]:
        names = [feed.key.name for feed in found if feed.has_link]
        try:
            states = dict(zip(names, await self._states.list_states(names), strict=True)) if names else {}
        except Exception as error:  # noqa: BLE001 - the state is optional, so any fault of the loader is tolerated
            log_fault(log, "api.source_states.failed", error)
            return [FeedWithState(feed, None) for feed in found]
        await self._join_loads(state.last_fetch for state in states.values() if state.HasField("last_fetch"))
        known = {name: state for name, state in states.items() if state.feed_version}
        return [FeedWithState(feed, known.get(feed.key.name)) for feed in found]
