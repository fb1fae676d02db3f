"""Build an index from the registry, with positions in the topic from which it can be followed (ADR 0031).

The order of the steps makes the index complete: read the ends of the topic, then the ends of the queues, then scan the
registry. A change that the scan misses was committed after the queues' ends were read, so its element is above them. It
was also sent after the topic's ends were read, so the consumer reads and applies it. An element at or below the queues'
ends that is sent late is in the scan, in the same or a newer version, so the consumer drops it as a repetition.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from classifeed.documents.v1 import schema_pb2
from classifeed.documents.v1.index_queue_service_pb2 import RegistryPosition
from classifeed_common.errors import DomainError, FailedPrecondition
from classifeed_common.loops import retry
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_domain.document_shards import SHARDS
from classifeed_searcher.clients.receiver import ReceiverClient, ScannedPage
from classifeed_searcher.clients.topic_log import Positions, TopicLog
from classifeed_searcher.domain.rebuild import Rebuild
from classifeed_searcher.domain.watermarks import Watermarks
from classifeed_searcher.metrics import DAMAGED, REBUILT_DOCUMENTS
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite
from classifeed_searcher.store.generations import Generations

_log = structlog.get_logger(__name__)

T = TypeVar("T")

_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0


class EpochChanged(Exception):
    """Another epoch is active now, or none; the build must be restarted."""


@dataclass(frozen=True, slots=True)
class Built:
    """A generation that was built from a scan of the registry.

    Attributes:
        generation: the committed generation, which is not the current one yet.
        ends: ends of the topic after the scan; once it has reached them, it is as up to date as any other replica.
    """

    generation: IndexGeneration
    ends: Positions


class BuildIndex:
    """Builds generations of one client's index. It retries failed calls without limit; cancel it to give up."""

    def __init__(self, receiver: ReceiverClient, topic: TopicLog, generations: Generations) -> None:
        self._receiver = receiver
        self._topic = topic
        self._generations = generations

    async def __call__(self, schema: schema_pb2.Schema, rebuild: Rebuild) -> Built:
        """Return a new generation, and keep `rebuild` up to date meanwhile.

        Raises:
            EpochChanged: `schema` no longer belongs to the active epoch.
        """
        positions = await self._retried(self._topic.ends, rebuild)
        marks = Watermarks.at(await self._retried(self._receiver.queue_ends, rebuild))
        generation = await asyncio.to_thread(self._generations.create, schema)
        try:
            write = IndexWrite(marks, {})
            for shard in range(SHARDS):
                async with contextlib.aclosing(self._pages(shard, schema.epoch, rebuild)) as pages:
                    async for page in pages:
                        self._note_damaged(shard, await asyncio.to_thread(_fill, generation, write, page), rebuild)
                        rebuild.documents += len(page.documents)
                        REBUILT_DOCUMENTS.labels(self._receiver.client).inc(len(page.documents))
                rebuild.shards += 1
            await asyncio.to_thread(generation.commit, write, positions)
            rebuild.is_following = True
            return Built(generation, await self._retried(self._topic.ends, rebuild))
        except BaseException:
            generation.close()
            raise

    async def _pages(self, shard: int, epoch: int, rebuild: Rebuild) -> AsyncGenerator[ScannedPage]:
        """Yield the pages of a shard; the next page is fetched while the caller processes one."""
        after = None
        fetching = asyncio.create_task(self._page(shard, epoch, after, rebuild))
        try:
            while True:
                page = await fetching
                after = page.next
                if after is not None:
                    fetching = asyncio.create_task(self._page(shard, epoch, after, rebuild))
                self._note_damaged(shard, page.unreadable, rebuild)
                if page.documents:
                    yield page
                if after is None:
                    return
        finally:
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)

    def _note_damaged(self, shard: int, rows: int, rebuild: Rebuild) -> None:
        """Count damaged rows, which are left out: they must not keep the other rows out of the index."""
        if rows:
            rebuild.damaged += rows
            DAMAGED.labels(self._receiver.client).inc(rows)
            _log.error("searcher.rebuild.unreadable", client=self._receiver.client, shard=shard, rows=rows)

    async def _page(self, shard: int, epoch: int, after: RegistryPosition | None, rebuild: Rebuild) -> ScannedPage:
        try:
            return await self._retried(lambda: self._receiver.scan_page(shard, epoch, after), rebuild)
        except FailedPrecondition as error:
            raise EpochChanged(error.message) from error

    async def _retried(self, call: Callable[[], Awaitable[T]], rebuild: Rebuild) -> T:
        """Call until it succeeds and return the result; meanwhile `rebuild.blocked_by` has the last error."""

        def note(error: Exception, pause_s: float) -> None:
            if isinstance(error, FailedPrecondition) or not isinstance(error, DomainError):
                raise error
            rebuild.blocked_by = error.message
            log_fault(_log, "searcher.rebuild.waits", error, retry_in_s=pause_s, client=self._receiver.client)

        result = await retry(call, Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S), note)
        rebuild.blocked_by = ""
        return result


def _fill(generation: IndexGeneration, write: IndexWrite, page: ScannedPage) -> int:
    documents, damaged = page.decode()
    generation.fill(write, documents)
    return damaged
