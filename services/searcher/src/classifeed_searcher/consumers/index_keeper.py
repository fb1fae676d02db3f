"""Keeps the index of a client complete: follows the topic, and rebuilds it from the registry if needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from classifeed.documents.v1 import schema_pb2
from classifeed_common.errors import DomainError
from classifeed_common.faults.interruptions import INTERRUPTIONS
from classifeed_common.kafka import OrderedConsumer
from classifeed_common.loops import race
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_domain.document_shards import SHARDS
from classifeed_searcher.app.build_index import BuildIndex, Built, EpochChanged
from classifeed_searcher.clients.receiver import ReceiverClient
from classifeed_searcher.clients.topic_log import PositionsLost, TopicLog
from classifeed_searcher.consumers.following import Following
from classifeed_searcher.domain.rebuild import LOG_LOST, NO_INDEX, Attempts, Cause, Rebuild
from classifeed_searcher.engine.writing.process import WriterLost
from classifeed_searcher.engine.writing.writer import LockedIndex
from classifeed_searcher.metrics import IS_WHOLE, REBUILDS
from classifeed_searcher.store.catch_up import CatchUp
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite
from classifeed_searcher.store.generations import Generations
from classifeed_searcher.store.live_index import LiveIndex
from classifeed_searcher.store.positions import reach
from classifeed_searcher.store.state_file import UnusableIndex

_log = structlog.get_logger(__name__)

MakeConsumer = Callable[[IndexGeneration], OrderedConsumer[IndexWrite]]

_SCHEMA_EVERY_S: Final = 0.5
_WRITE_AGAIN_S: Final = 5.0
# A commit of many documents takes a second or two. A longer pause is an outage; old results are better than none then.
_STANDSTILL_S: Final = 60.0


class IndexKeeper:
    """Keeps a client's index complete, as its only writer.

    A generation is searched once it is complete, until another one replaces it. After a crash at any point, the former
    current generation is still current, and an unfinished rebuild is restarted.
    """

    def __init__(
        self,
        live: LiveIndex,
        generations: Generations,
        receiver: ReceiverClient,
        topic: TopicLog,
        make_consumer: MakeConsumer,
        *,
        standstill_s: float = _STANDSTILL_S,
    ) -> None:
        """Lock the client's folder and open its current generation.

        Args:
            live: index as searches see it; this object sets its fields.
            generations: generations in the client's folder.
            receiver: client of the receiver, whose registry a new index is built from.
            topic: topic that the index follows.
            make_consumer: function that returns the consumer of a generation.
            standstill_s: seconds without progress after which a stored index that is catching up is searched as it is.

        Raises:
            LockedIndex: another process has the folder.
        """
        self._live = live
        self._generations = generations
        self._receiver = receiver
        self._topic = topic
        self._build = BuildIndex(receiver, topic, generations)
        self._make_consumer = make_consumer
        self._standstill_s = standstill_s
        self._following: Following | None = None
        # The consumer of the generation that will replace the current one.
        self._coming: Following | None = None
        self._wanted: asyncio.Queue[Cause] = asyncio.Queue()
        self._stored: IndexGeneration | None = None
        self._cause: Cause | None = None
        self._attempts = Attempts()
        generations.lock()
        try:
            self._stored = generations.open_current()
        except UnusableIndex as error:
            self._cause = Cause(NO_INDEX, str(error))

    def request_rebuild(self, cause: Cause) -> None:
        """Request a rebuild of the index from the registry; requests before it begins are combined."""
        if self._live.rebuild is None and self._wanted.empty():
            self._wanted.put_nowait(cause)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set."""
        IS_WHOLE.labels(self._live.client).set(0)
        try:
            cause = self._cause or await self._show_stored(stop)
            while not stop.is_set():
                cause = await (self._follow(stop) if cause is None else self._replace(cause, stop))
        finally:
            await self._stop_following()

    async def backlog(self) -> dict[str, int]:
        """Return the number of records that are not applied yet, or of shards that a rebuild still has to read."""
        if not self._live.has_schema:
            return {}
        if self._live.rebuild is not None:
            return {f"{self._live.client} shards to rebuild": max(1, SHARDS - self._live.rebuild.shards)}
        if self._following is None:
            return {f"{self._live.client} index to open": 1}
        return await self._following.consumer.backlog()

    def blocked(self) -> Mapping[str, str]:
        """Return the state of a rebuild or catch-up in one line, and the blocked partitions of the topic."""
        live = self._live
        found: dict[str, str] = {}
        if live.rebuild is not None and live.has_schema:
            found[live.client] = live.rebuild.describe(live.client)
        elif live.catch_up is not None and live.catch_up.behind:
            found[live.client] = live.catch_up.describe(live.client)
        for following in (self._following, self._coming):
            if following is not None:
                found.update(following.consumer.blocked())
        return found

    def close(self) -> None:
        """Close the generations and unlock the folder; call it after `run` has returned."""
        for generation in (self._stored, self._live.generation):
            if generation is not None:
                generation.close()
        self._stored = self._live.generation = None
        self._generations.unlock()

    async def _show_stored(self, stop: asyncio.Event) -> Cause | None:
        """Serve the stored generation once it has applied all records that the topic had at the start.

        Later records are lag, which does not take the index out of service.

        Returns:
            The cause of a rebuild, if the topic no longer has the records that the generation needs; otherwise None.
        """
        generation = self._stored
        assert generation is not None
        try:
            catch_up = CatchUp(generation, await self._topic.ends_for(generation.state.positions))
            if catch_up.behind and not await self._catch_up(catch_up, stop):
                return None
        except PositionsLost as lost:
            self._stored = None
            generation.close()
            return Cause(LOG_LOST, str(lost))
        self._live.generation, self._stored = generation, None
        self._note_whole()
        return None

    async def _catch_up(self, catch_up: CatchUp, stop: asyncio.Event) -> bool:
        """Follow the topic until a generation may be searched; return False if `stop` is set before.

        Raises:
            PositionsLost: the topic has lost the next records.
        """
        live = self._live
        live.catch_up = catch_up
        _log.info("searcher.catch_up.begun", client=live.client, records=catch_up.behind)
        self._following = following = Following(catch_up.generation, self._make_consumer(catch_up.generation))
        waited, ended = await race(stop, catch_up.wait(self._standstill_s), following.ended())
        if not ended.cancelled():
            self._following = live.catch_up = None
            raise PositionsLost(ended.result())
        if waited.cancelled():
            return False
        waited.result()
        if catch_up.stands_still:
            _log.warning("searcher.catch_up.stands_still", client=live.client, records=catch_up.behind)
        else:
            live.catch_up = None
            _log.info("searcher.catch_up.finished", client=live.client)
        return True

    async def _follow(self, stop: asyncio.Event) -> Cause | None:
        """Follow the topic until there is a cause for a rebuild, and return it; None: `stop` was set."""
        if self._following is None:
            assert self._live.generation is not None
            self._following = Following(self._live.generation, self._make_consumer(self._live.generation))
        ended, wanted = await race(stop, self._following.ended(), self._wanted.get())
        if not ended.cancelled():
            self._following = None
            return Cause(LOG_LOST, ended.result())
        return None if wanted.cancelled() else wanted.result()

    async def _replace(self, cause: Cause, stop: asyncio.Event) -> Cause | None:
        """Replace the current generation with a new one.

        Returns:
            None when done; otherwise the cause of the next attempt.
        """
        live = self._live
        live.rebuild = rebuild = Rebuild(cause, attempt=self._attempts.failed + 1, failed_by=self._attempts.why)
        live.catch_up = None
        REBUILDS.labels(live.client, cause.kind).inc()
        _log.warning("searcher.rebuild.begun", client=live.client, cause=cause.kind, why=cause.text)
        if not cause.keeps_former:
            await self._retire_former()
        try:
            [schema] = await race(stop, self._await_schema(rebuild))
            if schema.cancelled():
                return cause
            await asyncio.to_thread(self._generations.remove_abandoned)
            [building] = await race(stop, self._build(schema.result(), rebuild))
            if building.cancelled():
                return cause
            return await self._take_over(building.result(), cause, stop)
        except EpochChanged as error:
            rebuild.blocked_by = str(error)
            _log.warning("searcher.rebuild.begins.anew", client=live.client, why=rebuild.blocked_by)
            await race(stop, asyncio.sleep(_SCHEMA_EVERY_S))
            return cause
        except INTERRUPTIONS:
            raise
        except BaseException as error:  # noqa: BLE001 - it ends the attempt, not the process, which serves other clients
            await self._note_failure(rebuild, error, stop)
            return cause
        finally:
            live.rebuild = None

    async def _note_failure(self, rebuild: Rebuild, error: BaseException, stop: asyncio.Event) -> None:
        """Store why an attempt of a rebuild failed, then back off: 5 s at first, up to a minute."""
        # The engine raises ValueError if a file cannot be written.
        if isinstance(error, (WriterLost, LockedIndex, OSError, ValueError)):
            why = f"the index cannot be written: {error}"
        else:
            why = f"{type(error).__name__}: {error}"
        pause_s = self._attempts.note_failure(why, first_pause_s=_WRITE_AGAIN_S)
        rebuild.blocked_by = f"{why}. The rebuild begins again in {pause_s:g} s"
        log_fault(_log, "searcher.rebuild.failed", error, client=self._live.client, retry_in_s=pause_s)
        await race(stop, asyncio.sleep(pause_s))

    async def _await_schema(self, rebuild: Rebuild) -> schema_pb2.Schema:
        while True:
            try:
                schema = await self._receiver.active_schema()
            except DomainError as error:
                rebuild.blocked_by = error.message
            else:
                rebuild.blocked_by = ""
                self._live.is_new |= not self._live.has_schema and schema is not None
                self._live.has_schema = schema is not None
                if schema is not None:
                    return schema
            await asyncio.sleep(_SCHEMA_EVERY_S)

    async def _take_over(self, built: Built, cause: Cause, stop: asyncio.Event) -> Cause | None:
        """Let a generation apply the changes since its scan, then make it the current one."""
        live = self._live
        await self._stop_following()
        self._coming = following = Following(built.generation, self._make_consumer(built.generation))
        try:
            reached, ended = await race(stop, reach(built.generation, built.ends), following.ended())
            if not ended.cancelled():
                return Cause(LOG_LOST, ended.result(), keeps_former=cause.keeps_former)
            if reached.cancelled():
                return cause
            await asyncio.to_thread(self._generations.switch_to, built.generation)
            self._attempts = Attempts()
            former, live.generation, self._following = live.generation, built.generation, following
            live.is_new = False
        finally:
            self._coming = None
            if self._following is not following:
                await following.stop()
                built.generation.close()
        if former is not None:
            former.close()
        await asyncio.to_thread(self._generations.remove_all_but, built.generation)
        self._note_whole()
        _log.info("searcher.rebuild.finished", client=live.client, documents=built.generation.index.documents)
        return None

    async def _retire_former(self) -> None:
        await self._stop_following()
        former, self._live.generation = self._live.generation, None
        IS_WHOLE.labels(self._live.client).set(0)
        if former is not None:
            former.close()

    async def _stop_following(self) -> None:
        following, self._following = self._following, None
        if following is not None:
            await following.stop()

    def _note_whole(self) -> None:
        IS_WHOLE.labels(self._live.client).set(1)
