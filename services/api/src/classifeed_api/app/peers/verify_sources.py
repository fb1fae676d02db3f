"""Checks that the loader still has the feeds that it acknowledged, and has lost ones sent again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import structlog

from classifeed.feeds.v1.feed_pb2 import FeedSourceState
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.metrics import LOST_SOURCES
from classifeed_api.store import feeds
from classifeed_common.db import Database
from classifeed_common.loops import Loop, Looping
from classifeed_domain.namespace_names import parse_namespace

_SLICE: Final = 500
_NAMED: Final = 5

log = structlog.get_logger(__name__)


class KnownSources(Protocol):
    """The loader, as this use case needs it."""

    async def list_states(self, names: Sequence[str]) -> Sequence[FeedSourceState]:
        """Return a state for each resource name, in order; feed_version is 0 for an unknown one."""

    async def list_sources(self, after: str) -> Sequence[str]:
        """Return the resource names of the first namespaces after `after` whose source is not removed."""


class SourceVerifier(Looping):
    """Compares the loader's versions of all feeds with the versions that it acknowledged, periodically.

    If the loader's database was restored from a backup, it has older versions of feeds, or lacks some; such feeds
    become due again. The verifier only reads unless a feed is lost, so several replicas may run it.

    If this database was restored, the loader has newer versions of feeds, or feeds that are unknown here. `blocked`
    names them, as only their sellers know the right settings.

    Args:
        database: database with the feeds.
        loader: client for the loader's versions.
        on_lost: called when feeds became due again.
        interval_s: seconds between two comparisons.
    """

    def __init__(
        self, database: Database, loader: KnownSources, *, on_lost: Callable[[], None], interval_s: float
    ) -> None:
        self._database = database
        self._loader = loader
        self._on_lost = on_lost
        self.loop = Loop(
            self.verify,
            period_s=interval_s,
            name="comparing feeds",
            doing="comparing feeds with the loader",
            effect="Feeds that the loader has lost are not sent again",
        )
        self._named: Mapping[str, str] = {}

    def blocked(self) -> Mapping[str, str]:
        """Return which feeds are newer at the loader or known only there, with the fix; and why feeds cannot be
        compared.
        """
        return {**self._named, **self.loop.blocked()}

    async def verify(self) -> int:
        """Make lost feeds due again and return their number; remember the feeds that are newer at the loader.

        Raises:
            grpc.aio.AioRpcError: the loader does not respond.
        """
        lost = 0
        behind: list[feeds.Published] = []
        after: feeds.Published | None = None
        while True:
            async with self._database.transaction() as tx:
                published = await feeds.list_published(tx, after, limit=_SLICE)
            if not published:
                self._name(behind, await self._list_unknown())
                return lost
            states = await self._loader.list_states([feed.name for feed in published])
            gone = [feed for feed, state in zip(published, states, strict=True) if state.feed_version < feed.version]
            if gone:
                async with self._database.transaction() as tx:
                    lost += await feeds.forget_published(tx, gone)
                LOST_SOURCES.inc(len(gone))
                log.warning("api.sources.lost", feeds=len(gone), first=gone[0].name)
                self._on_lost()
            behind += await self._list_behind(published, states)
            after = published[-1]

    async def _list_behind(
        self, published: Sequence[feeds.Published], states: Sequence[FeedSourceState]
    ) -> list[feeds.Published]:
        ahead = [
            feed._replace(version=state.feed_version)
            for feed, state in zip(published, states, strict=True)
            if state.feed_version > feed.version
        ]
        if not ahead:
            return []
        async with self._database.transaction() as tx:
            # Read after the loader replied: a feed may have changed meanwhile.
            return await feeds.list_behind(tx, ahead)

    async def _list_unknown(self) -> list[NamespaceKey]:
        unknown: list[NamespaceKey] = []
        after = ""
        while names := await self._loader.list_sources(after):
            keys = [NamespaceKey(*parse_namespace(name)) for name in names]
            async with self._database.transaction() as tx:
                unknown += await feeds.list_unknown(tx, keys)
            after = names[-1]
        return unknown

    def _name(self, behind: Sequence[feeds.Published], unknown: Sequence[NamespaceKey]) -> None:
        named = {}
        if behind:
            named["older feeds"] = (
                f"This database was restored, so the loader has newer versions of feeds, and uses them: {len(behind)}. "
                "Check the settings of each feed and save them (UpdateFeed, PauseFeed, DeleteFeed): the loader then "
                f"uses the saved ones. The first are: {_first_of(behind)}"
            )
        if unknown:
            named["unknown feeds"] = (
                "This database was restored, so the loader fetches feeds that are unknown here: "
                f"{len(unknown)}. Create each feed again (CreateFeed), and delete it if it is not needed. The first "
                f"are: {_first_of(unknown)}"
            )
        if named.keys() - self._named.keys():
            log.error("api.sources.ahead", older=len(behind), unknown=len(unknown))
        self._named = named


def _first_of(found: Sequence[feeds.Published] | Sequence[NamespaceKey]) -> str:
    return ", ".join(each.name for each in found[:_NAMED])
