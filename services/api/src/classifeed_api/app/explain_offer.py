"""Explains one offer: calls each service that knows something about it, and describes its timeline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar
from uuid import UUID

import structlog

from classifeed.feeds.v1.explanation_pb2 import OfferExplanation
from classifeed.feeds.v1.feed_pb2 import FEED_STATUS_PAUSED
from classifeed.feeds.v1.task_pb2 import Task
from classifeed_api.app.choose_load import Choice, choose_load, counting, find_canceled
from classifeed_api.clients.loader import LoaderClient
from classifeed_api.clients.offers import OffersClient
from classifeed_api.clients.processor import ProcessorClient
from classifeed_api.clients.searcher import SearcherClient
from classifeed_api.domain.namespaces import NamespaceKey
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_api.explain.explain import explain
from classifeed_api.explain.facts import Facts, Link, Look, Source
from classifeed_api.store import feeds, uploads
from classifeed_common.clock import Clock, SystemClock
from classifeed_common.db import Database, Tx, is_passing_fault
from classifeed_common.errors import Unavailable
from classifeed_common.rpc.call import remaining_s
from classifeed_domain.offer_names import OfferName

_log = structlog.get_logger(__name__)
Row = TypeVar("Row")
_DEFAULT_S: Final = 10.0
_TIMEOUT_S: Final = 2.0
# Shares of the remaining time. Reading the newest file may take most of it; the rest is for the other calls.
_NEWEST_SHARE: Final = 0.6
_OLDER_SHARE: Final = 0.4
_OTHER_SHARE: Final = 0.5


class ExplainOffer:
    """Asks the processor, the loader, the offers service, the searcher and the api's own tables about an offer.

    Each call gets only a share of the caller's time. If a service does not respond, its stages are UNKNOWN.

    Args:
        database: database of the uploads and feeds.
        processor: client for loads.
        loader: client for fetches.
        offers: client for offers.
        searcher: client for the search.
        timeout_s: timeout of a call that reads no file, in seconds.
        clock: clock that tells whether a stage takes long.
    """

    def __init__(
        self,
        database: Database,
        processor: ProcessorClient,
        loader: LoaderClient,
        offers: OffersClient,
        searcher: SearcherClient,
        *,
        timeout_s: float = _TIMEOUT_S,
        clock: Clock | None = None,
    ) -> None:
        self._database = database
        self._processor = processor
        self._loader = loader
        self._offers = offers
        self._searcher = searcher
        self._timeout_s = timeout_s
        self._clock = clock or SystemClock()

    async def __call__(self, name: OfferName) -> OfferExplanation:
        """Return the explanation of an offer, even of one that no service knows.

        Services are called in the order of the timeline, so that no stage seems to be behind a stage that waits for it.

        Raises:
            Unavailable: no service that knows offers responded.
        """
        time_left = _TimeLeft()
        key = NamespaceKey(name.seller_id, name.namespace)
        tasks = await self._processor.list_newest(key, timeout_s=self._timeout_s)
        known = [] if tasks is UNKNOWN else counting(tasks)
        newest = await self._look(name, known[0], time_left.share(_NEWEST_SHARE)) if known else None
        wait_s = min(self._timeout_s, time_left.share(_OTHER_SHARE))
        offer, document, link = await asyncio.gather(
            self._offers.find(name, timeout_s=wait_s),
            self._searcher.find(name, timeout_s=wait_s),
            self._find_link(key, wait_s),
        )
        if tasks is UNKNOWN and offer is UNKNOWN and document is UNKNOWN:
            raise Unavailable(
                "EXPLANATION_UNAVAILABLE",
                "Neither the loads nor the list of offers nor the search responds. Try again in a moment.",
                retry_after_s=2,
            )
        choice = Choice(UNKNOWN if tasks is UNKNOWN else None)

        async def look(task: Task) -> Look:
            return await self._look(name, task, time_left.share(_OLDER_SHARE))

        async def find(number: int) -> Task | None:
            return await self._processor.find_task(key, number, timeout_s=self._timeout_s)

        canceled = await find_canceled(known[0] if known else None, offer, find) if tasks is not UNKNOWN else None
        if canceled is not None:
            choice = Choice(await look(canceled))
        elif newest is not None:
            choice = await choose_load(known, newest, offer, look=look, find=find)
        source = await self._find_source(choice.load, time_left)
        return explain(
            Facts(
                name=name,
                source=source,
                link=link,
                offer=offer,
                document=document,
                requested_at=self._clock.now(),
                **choice._asdict(),
            )
        )

    async def _look(self, name: OfferName, task: Task, reading_s: float) -> Look:
        return await self._processor.look(task, name.external_id, timeout_s=self._timeout_s, reading_s=reading_s)

    async def _find_link(self, key: NamespaceKey, wait_s: float) -> Link | Unknown | None:
        """Return the feed of the namespace with the loader's state of it; None if there is no feed."""
        feed = await self._read("feed", lambda tx: feeds.find(tx, key), wait_s)
        if feed is UNKNOWN:
            return UNKNOWN
        if feed is None or feed.is_removed:
            return None
        state = await self._loader.find_state(feed.key.name, timeout_s=wait_s)
        if state is UNKNOWN:
            return UNKNOWN
        return Link(state, is_paused=feed.status == FEED_STATUS_PAUSED)

    async def _find_source(self, load: Look | Unknown | None, time_left: _TimeLeft) -> Source:
        """Return the upload or the fetch that brought the file of a load."""
        if load is None or load is UNKNOWN:
            return None
        wait_s = min(self._timeout_s, time_left.share(_OTHER_SHARE))
        if load.task.fetch:
            return await self._loader.find_fetch(load.task.fetch, timeout_s=wait_s)
        try:
            upload_id = UUID(load.task.upload_id)
        except ValueError:
            return None
        return await self._read("upload", lambda tx: uploads.find(tx, upload_id), wait_s)

    async def _read(self, what: str, read: Callable[[Tx], Awaitable[Row]], wait_s: float) -> Row | Unknown:
        """Return the result of a read of the api's database; UNKNOWN if it fails with a transient fault."""
        try:
            async with self._database.transaction(timeout_s=wait_s) as tx:
                return await read(tx)
        except Exception as error:
            if not is_passing_fault(error):
                raise
            _log.info("api.unasked", what=what, error=type(error).__name__)
            return UNKNOWN


class _TimeLeft:
    """The rest of the caller's deadline."""

    def __init__(self) -> None:
        left_s = remaining_s()
        self._ends_at = time.monotonic() + (_DEFAULT_S if left_s is None else left_s)

    def share(self, part: float) -> float:
        """Return a share of the remaining time, in seconds."""
        return max(0.0, self._ends_at - time.monotonic()) * part
