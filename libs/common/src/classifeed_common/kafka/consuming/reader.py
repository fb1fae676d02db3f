"""PartitionReader: librdkafka's consumer in its own thread, for asyncio.

It reads the assigned partitions from given positions, and decides nothing. The group gives the assignment (eager, so
that each rebalance starts from nothing), or all partitions of the topics are taken without a group.

Outside the callbacks of a rebalance, `assign` is called only while the assignment is still in force, and never with an
empty list: librdkafka takes any `assign` during a rebalance for the reply that the rebalance waits for.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from classifeed_common.kafka.positions import OffsetOutsideLog
from classifeed_common.kafka.records import CLIENT_CONFIG, Record, headers_of

_log = structlog.get_logger(__name__)

R = TypeVar("R")
Partition = tuple[str, int]

_SHOW_AGAIN_S: Final = 60.0
_OUTSIDE_LOG: Final = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})


class PartitionReader:
    """Reads the assigned partitions. Each call must complete before the next one."""

    def __init__(
        self,
        *,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        subscribed: bool,
        session_timeout_s: float,
        max_poll_interval_s: float,
        metadata_refresh_s: float = 30.0,
    ) -> None:
        """Prepare a reader; `open` connects it."""
        self._group = group
        self._topics = list(topics)
        self._subscribed = subscribed
        self._config: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",  # a position outside the log must stop the consumer, not move it
            "partition.assignment.strategy": "range",
            "session.timeout.ms": int(session_timeout_s * 1000),
            "heartbeat.interval.ms": int(session_timeout_s * 1000 / 5),
            "max.poll.interval.ms": int(max_poll_interval_s * 1000),
            "topic.metadata.refresh.interval.ms": int(metadata_refresh_s * 1000),  # finds added partitions
            "queued.max.messages.kbytes": 16 * 1024,
            "fetch.queue.backoff.ms": 20,
            "allow.auto.create.topics": False,
            "on_commit": self._on_commit,
            **CLIENT_CONFIG,
        }
        self._consumer: Consumer | None = None
        self._is_showing = False
        self._shown: Mapping[Partition, int] = {}
        self._shown_s = 0.0
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"kafka-{group}")
        self.assigned: frozenset[Partition] = frozenset()
        self.joined = not subscribed  # the group's last callback was an assignment, perhaps an empty one
        self.generation = 0  # grows whenever `assigned` changes
        self.held = False  # fetching is paused or has not begun: call `read_from`

    async def open(self) -> None:
        """Connect and, with a group, join it. A later `poll` receives the first assignment."""
        await self._in_thread(self._open)

    async def poll(self, max_records: int, timeout_s: float) -> list[Record]:
        """Return the next records as soon as there are some; serves rebalances of the group.

        Records polled across a rebalance are dropped: `generation` has grown, and the caller must call `read_from`
        again.

        Raises:
            OffsetOutsideLog: the brokers do not have the next offset (any more, or yet).
        """
        return await self._in_thread(lambda: self._poll(max_records, timeout_s))

    async def stay(self, timeout_s: float) -> None:
        """Keep the membership while nothing may be read: pause all partitions, serve the group, drop records."""
        await self._in_thread(lambda: self._stay(timeout_s))

    async def take(self, partitions: frozenset[Partition]) -> None:
        """Assign `partitions`, without a group."""
        if partitions != self.assigned:
            self.assigned, self.held = partitions, True
            self.generation += 1

    async def read_from(
        self, generation: int, offsets: Mapping[Partition, int], *, paused: Collection[Partition] = ()
    ) -> None:
        """Read every assigned partition from its offset; records fetched before are dropped.

        Without effect if the assignment has changed since `generation`: the partitions may have another owner.

        Args:
            generation: generation of the assignment of these offsets.
            offsets: next offset of each assigned partition.
            paused: partitions that stay paused.
        """
        await self._in_thread(lambda: self._read_from(generation, offsets, paused))

    async def pause(self, partitions: Collection[Partition]) -> None:
        """Fetch no more of `partitions` until the next `read_from`; records fetched before may still come."""
        await self._in_thread(lambda: self._pause(partitions))

    async def reopen(self) -> None:
        """Abandon the client, and start a new one; partitions taken without a group stay assigned.

        For a client that reads nothing. Its close may hang, too, so another thread closes it.
        """
        await self._in_thread(self._reopen)

    async def show(self, offsets: Mapping[Partition, int]) -> None:
        """Commit offsets to Kafka, for lag displays only: does not wait, and only logs a failure.

        Each commit is a write of the broker, and a rebalance waits for it. So a commit is left out while another is
        under way, and for a minute while nothing has changed.
        """
        if self._subscribed and offsets:
            await self._in_thread(lambda: self._show(offsets))

    async def close(self) -> None:
        """Leave the group, so that the others take over at once. Idempotent."""
        if self._consumer is not None:
            await self._in_thread(self._consumer.close)
            self._consumer = None
        self._thread.shutdown(wait=False)

    async def _in_thread(self, call: Callable[[], R]) -> R:
        # librdkafka's calls cannot be interrupted: a cancelled call ends in the thread, and the next one queues behind
        # it.
        return await asyncio.wrap_future(self._thread.submit(call))

    def _open(self) -> None:
        self._consumer = Consumer(self._config)
        self._is_showing = False
        if self._subscribed:
            self._consumer.subscribe(
                self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
            )

    def _reopen(self) -> None:
        former = self._client
        self._changed(frozenset() if self._subscribed else self.assigned, joined=not self._subscribed)
        self._open()
        threading.Thread(target=former.close, name=f"kafka-{self._group}-former", daemon=True).start()

    @property
    def _client(self) -> Consumer:
        if self._consumer is None:
            raise RuntimeError("the reader is not open")
        return self._consumer

    def _poll(self, max_records: int, timeout_s: float) -> list[Record]:
        generation = self.generation
        first = self._client.poll(timeout_s)
        if first is None:
            return []
        messages = [first]
        if max_records > 1:
            messages += self._client.consume(max_records - 1, 0)
        records = [record for message in messages if (record := self._record(message)) is not None]
        return records if generation == self.generation else []

    def _stay(self, timeout_s: float) -> None:
        if not self.held:
            self._client.pause(self._client.assignment())
            self.held = True
        self._client.poll(timeout_s)

    def _read_from(self, generation: int, offsets: Mapping[Partition, int], paused: Collection[Partition]) -> None:
        # Callbacks of the group run only in this thread, so nothing changes between the comparison and the calls.
        if generation != self.generation:
            return
        if offsets:
            self._client.assign(_places(offsets))
            # A pause outlives an assignment.
            self._client.resume(_places({part: at for part, at in offsets.items() if part not in paused}))
            self._pause(paused)
        self.held = False

    def _pause(self, partitions: Collection[Partition]) -> None:
        if partitions:
            self._client.pause([TopicPartition(topic, partition) for topic, partition in partitions])

    def _show(self, offsets: Mapping[Partition, int]) -> None:
        now_s = time.monotonic()
        if self._is_showing or (offsets == self._shown and now_s - self._shown_s < _SHOW_AGAIN_S):
            return
        try:
            self._client.commit(offsets=_places(offsets), asynchronous=True)
            self._is_showing = True
            self._shown, self._shown_s = dict(offsets), now_s
        except KafkaException as error:
            _log.debug("consumer.offsets.not_shown", group=self._group, error=str(error))

    def _record(self, message: Any) -> Record | None:
        error = message.error()
        if error is not None:
            self._judge(message, error)
            return None
        return Record(
            message.topic(),
            message.partition(),
            message.offset(),
            message.key(),
            message.value() or b"",
            headers_of(message.headers()),
            message.timestamp()[1],
        )

    def _judge(self, message: Any, error: KafkaError) -> None:
        if error.code() in _OUTSIDE_LOG:
            raise OffsetOutsideLog(f"{message.topic()}[{message.partition()}]: {error.str()}")
        # All other errors pass: a topic that does not exist yet, a moving coordinator, an exceeded poll interval.
        _log.warning("consumer.client.failed", group=self._group, topic=message.topic(), error=error.str())

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Nothing is fetched until the positions are loaded: an empty assignment only keeps the membership.
        consumer.assign([])
        if consumer is self._consumer:
            self._changed(frozenset((place.topic, place.partition) for place in partitions), joined=True)

    def _on_revoke(self, consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        consumer.unassign()
        if consumer is self._consumer:  # not one that was abandoned
            self._changed(frozenset(), joined=False)

    def _changed(self, partitions: frozenset[Partition], *, joined: bool) -> None:
        self.assigned, self.joined, self.held = partitions, joined, True
        self.generation += 1
        self._shown = {}

    def _on_commit(self, error: KafkaError | None, _committed: list[TopicPartition]) -> None:
        self._is_showing = False
        if error is not None:
            self._shown = {}
            _log.debug("consumer.offsets.not_shown", group=self._group, error=error.str())


def _places(offsets: Mapping[Partition, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, partition, at) for (topic, partition), at in offsets.items()]
