"""Checks that the loader still has what it was sent of the feeds, and has what it lost sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import structlog

from classifeed.feeds.v1.feed_pb2 import FeedSourceState
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.metrics import LOST_SOURCES
from classifeed_api.store import feeds
from classifeed_common.db import Database
from classifeed_common.pacing.repeating import RepeatedWork
from classifeed_domain.namespace_names import parse_namespace

_SLICE: Final = 500
_NAMED: Final = 5

log = structlog.get_logger(__name__)


class KnownSources(Protocol):
    """The loader, as this use case needs it."""

    async def get_states(self, names: Sequence[str]) -> Sequence[FeedSourceState]:
        """Return a state for each resource name, in order; one that is not known has feed_version 0."""

    async def list_sources(self, after: str) -> Sequence[str]:
        """Return the resource names of the first namespaces behind one whose source is not removed."""


class SourceVerifier:
    """Compares the loader's versions of all feeds with those that it acknowledged, again and again.

    A loader whose database went back knows feeds in older versions, or not at all, and nothing would send it those
    before their next change. Such feeds become due again. Only reads, unless something is lost; safe beside others.

    Where it is our database that went back, the loader goes by newer versions of feeds, and fetches some that we do not
    know. These are named: what is wanted only their sellers know.

    Args:
        database: with the feeds.
        loader: of the versions.
        on_lost: called when feeds became due again.
        interval_s: the pause between two comparisons, in seconds.
    """

    def __init__(
        self, database: Database, loader: KnownSources, *, on_lost: Callable[[], None], interval_s: float
    ) -> None:
        self._database = database
        self._loader = loader
        self._on_lost = on_lost
        self._work = RepeatedWork(
            self.verify,
            period_s=interval_s,
            name="comparing feeds",
            doing="comparing feeds with the loader",
            effect="Whatever the loader has lost is not sent again",
        )
        self._named: Mapping[str, str] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Verify until `stop`; faults are retried."""
        await self._work.run(stop)

    def blocked(self) -> Mapping[str, str]:
        """Return which feeds the loader knows in newer versions than this database, or alone, and what to do; and why
        they cannot be compared.
        """
        return {**self._named, **self._work.blocked()}

    async def verify(self) -> int:
        """Make due what the loader has lost, and return how many feeds those are; remember where it is ahead.

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
            states = await self._loader.get_states([feed.name for feed in published])
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
                "Feeds that are older here than at the loader, which goes by what it has, as this database was "
                f"restored: {len(behind)}. Check the settings of each and save them (UpdateFeed, PauseFeed, "
                f"DeleteFeed): the saved settings count from then on. The first are: {_first_of(behind)}"
            )
        if unknown:
            named["unknown feeds"] = (
                "Feeds that the loader fetches and that are unknown here, as this database was restored: "
                f"{len(unknown)}. Create each once more (CreateFeed), and remove it if it is not wanted. The first "
                f"are: {_first_of(unknown)}"
            )
        if named.keys() - self._named.keys():
            log.error("api.sources.ahead", older=len(behind), unknown=len(unknown))
        self._named = named


def _first_of(found: Sequence[feeds.Published] | Sequence[NamespaceKey]) -> str:
    return ", ".join(each.name for each in found[:_NAMED])
