"""OrderedConsumer: each record takes effect once, in the order of its partition, through kills, zombies and rebalances.

Kafka's group says which partitions are ours; the stored positions say where we stand (ADR 0004). Every effect moves the
positions of all polled partitions by compare-and-set, so that a consumer that lost its partitions without knowing it
changes nothing: it rolls back, loads the positions again and goes on from there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

import structlog

from classifeed_common.kafka import metrics
from classifeed_common.kafka.cluster import Cluster
from classifeed_common.kafka.dead_letters import DeadLetters, Poison
from classifeed_common.kafka.persistence import Abandoned, Persistence
from classifeed_common.kafka.positions import GroupPartition, OffsetOutsideLog, Position, Positions, ZombieConsumer
from classifeed_common.kafka.reader import PartitionReader
from classifeed_common.kafka.records import Record
from classifeed_common.kafka.takeover import Takeover

_log = structlog.get_logger(__name__)

T = TypeVar("T")
Place = tuple[str, int, int]

_POLL_S: Final = 0.2
_SHOW_EVERY_S: Final = 1.0
_PARTITIONS_EVERY_S: Final = 30.0


class OrderedConsumer(Generic[T]):
    """Reads topics in order and hands their records to `handle`, inside the effect that moves the positions."""

    def __init__(
        self,
        *,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        positions: Positions[T],
        handle: Callable[[T, Sequence[Record]], Awaitable[None]],
        dead_letters: DeadLetters | None,
        refuse: Callable[[T, Record, str], Awaitable[None]] | None = None,
        max_records: int = 500,
        assign_all: bool = False,
        session_timeout_s: float = 10.0,
        max_poll_interval_s: float = 60.0,
        max_backoff_s: float = 5.0,
    ) -> None:
        """Prepare a consumer; `run` connects it.

        Args:
            bootstrap: addresses of brokers, comma separated.
            group: who reads; positions belong to it.
            topics: what is read.
            positions: where the group stands; its effect is what `handle` works in.
            handle: does the work of records, those of a partition in order. It may run again with the same records (its
                effect was rolled back then), and several times within one effect. No long work: record it and enqueue
                a job. `Poison` tells of a record's lasting fault; any other exception passes and is retried for ever.
            dead_letters: takes poison; without it poison blocks its partitions as a passing fault does.
            refuse: answers the sender of a dead letter, in the effect that passes it over, in its place in the order.
            max_records: how many records one effect takes at most.
            assign_all: read all partitions without a group (each replica has positions of its own).
            session_timeout_s: after this silence the group gives our partitions to others.
            max_poll_interval_s: the group's limit between polls; a slow handler does not reach it, as polling goes on.
            max_backoff_s: the longest pause between attempts after passing faults.
        """
        self._group = group
        self._topics = list(topics)
        self._positions = positions
        self._handle = handle
        self._dead_letters = dead_letters
        self._refuse = refuse
        self._max_records = max_records
        self._assign_all = assign_all
        self._cluster = Cluster(bootstrap, client_id=group)
        self._takeover = Takeover(self._cluster, group, positions)
        self._reader = PartitionReader(
            bootstrap=bootstrap,
            group=group,
            topics=topics,
            subscribed=not assign_all,
            session_timeout_s=session_timeout_s,
            max_poll_interval_s=max_poll_interval_s,
        )
        self._persistence = Persistence(
            self._reader, group, patience_s=min(5.0, max_poll_interval_s / 4), max_backoff_s=max_backoff_s
        )
        self._at: dict[GroupPartition, Position] = {}
        self._generation = 0  # of the reader, as of our last takeover
        self._gaps: dict[GroupPartition, tuple[int, int]] = {}
        self._next_show = 0.0
        self._next_partitions = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Read and handle until `stop` is set; the effect in hand is finished first. Run it once.

        Raises:
            TopicRecreated: the topic was made again under our positions.
            OffsetOutsideLog: the log no longer has the next record. Both say what to do; nothing was skipped.
        """
        await self._reader.open()
        try:
            while not stop.is_set():
                try:
                    await self._round(stop)
                except Abandoned:
                    continue
                except ZombieConsumer as zombie:
                    metrics.ZOMBIES.labels(self._group).inc()
                    _log.warning(
                        "effect rolled back: the partitions have another owner", group=self._group, why=str(zombie)
                    )
                    self._generation = -1  # load the positions again
        finally:
            await self._show(now=True)
            await self._reader.close()

    async def backlog(self) -> dict[str, int]:
        """Return how many records each topic has that the group (all its members) has not handled. No effect.

        Raises:
            Unavailable: the brokers did not answer.
        """
        states = await self._takeover.states(self._topics)
        parts = [(topic, at) for topic, state in states.items() for at in range(state.partitions)]
        ends = await self._cluster.ends(parts)
        known = await self._positions.load([GroupPartition(self._group, *part) for part in parts])
        starts = await self._cluster.starts([part for part in parts if (self._group, *part) not in known])
        lag = dict.fromkeys(self._topics, 0)
        for part in parts:
            position = known.get(GroupPartition(self._group, *part))
            lag[part[0]] += max(0, ends[part] - (position.next if position else starts[part]))
        return lag

    async def _round(self, stop: asyncio.Event) -> None:
        if self._assign_all:
            await self._take_all(stop)
        if self._generation != self._reader.generation:
            await self._take_over(stop)
        try:
            records = await self._reader.poll(self._max_records, _POLL_S)
        except OffsetOutsideLog:
            # librdkafka knows the partition, not the remedy; the check of a takeover finds both.
            await self._take_over(stop)
            return
        if self._generation == self._reader.generation and (batch := self._in_order(records)):
            await self._apply(batch, stop)
        if self._generation == self._reader.generation and self._reader.held:
            await self._read_on()
        await self._show(now=False)

    async def _take_all(self, stop: asyncio.Event) -> None:
        if time.monotonic() < self._next_partitions:
            return
        states = await self._persistence.persist(lambda: self._takeover.states(self._topics), stop)
        await self._reader.take(frozenset((t, at) for t, state in states.items() for at in range(state.partitions)))
        self._next_partitions = time.monotonic() + _PARTITIONS_EVERY_S

    async def _take_over(self, stop: asyncio.Event) -> None:
        generation, assigned = self._reader.generation, self._reader.assigned
        self._at = await self._persistence.persist(lambda: self._takeover.positions_of(assigned), stop)
        self._gaps.clear()
        await self._read_on()
        self._generation = generation
        _log.info("partitions taken over", group=self._group, partitions=len(self._at))

    async def _read_on(self) -> None:
        await self._reader.read_from({part[1:]: position.next for part, position in self._at.items()})

    def _in_order(self, records: Sequence[Record]) -> list[Record]:
        """Return the records that come next in their partitions, without those handled and those after a gap."""
        nexts = {part[1:]: position.next for part, position in self._at.items()}
        batch: list[Record] = []
        gap = False
        for record in records:
            place = (record.topic, record.partition)
            at = nexts.get(place)
            if at is None or record.offset < at:
                continue
            if record.offset > at and not self._is_real_gap(GroupPartition(self._group, *place), at, record.offset):
                del nexts[place]  # nothing after the gap in this batch
                gap = True
                continue
            nexts[place] = record.offset + 1
            batch.append(record)
        if gap:
            self._reader.held = True  # fetch once more from where we stand
        return batch

    def _is_real_gap(self, part: GroupPartition, at: int, offset: int) -> bool:
        # Compaction and aborted transactions leave holes; a stale fetch would look the same and lose records. Only a
        # hole that is still there after a fresh seek is believed.
        if self._gaps.get(part) == (at, offset):
            return True
        self._gaps[part] = (at, offset)
        return False

    async def _apply(self, batch: Sequence[Record], stop: asyncio.Event) -> None:
        expected, new = self._moves(batch)
        refused: dict[Place, str] = {}
        oldest = batch[0]
        age_s = max(0.0, time.time() - oldest.timestamp_ms / 1000)
        metrics.OLDEST_AGE.labels(self._group, oldest.topic, str(oldest.partition)).set(age_s)
        await self._persistence.persist(lambda: self._effect(batch, expected, new, refused), stop)
        self._at.update(new)
        for part, position in new.items():
            metrics.HANDLED.labels(self._group, part.topic).inc(position.next - expected[part].next)

    def _moves(self, batch: Sequence[Record]) -> tuple[dict[GroupPartition, Position], dict[GroupPartition, Position]]:
        ends = {(record.topic, record.partition): record.offset + 1 for record in batch}
        parts = sorted(GroupPartition(self._group, *place) for place in ends)
        expected = {part: self._at[part] for part in parts}
        return expected, {part: Position(at.topic_id, ends[part[1:]]) for part, at in expected.items()}

    async def _effect(
        self,
        batch: Sequence[Record],
        expected: dict[GroupPartition, Position],
        new: dict[GroupPartition, Position],
        refused: dict[Place, str],
    ) -> None:
        # Asked after the poll and before the effect: an unchanged id means that these records are of our log.
        self._takeover.check_topics(expected, await self._takeover.states({part.topic for part in expected}))
        while True:
            try:
                async with self._positions.effect(expected, new) as tx:
                    await self._handle_around(tx, batch, refused)
            except Poison as poison:
                await self._bury(poison, batch, refused)
            else:
                return

    async def _handle_around(self, tx: T, batch: Sequence[Record], refused: dict[Place, str]) -> None:
        begin = 0
        for at, record in enumerate(batch) if refused else ():
            reason = refused.get(_place(record))
            if reason is not None:
                if begin < at:
                    await self._handle(tx, batch[begin:at])
                if self._refuse is not None:
                    await self._refuse(tx, record, reason)
                begin = at + 1
        if begin < len(batch):
            await self._handle(tx, batch[begin:])

    async def _bury(self, poison: Poison, batch: Sequence[Record], refused: dict[Place, str]) -> None:
        record, place = poison.record, _place(poison.record)
        if self._dead_letters is None or place in refused or all(place != _place(other) for other in batch):
            raise poison  # nowhere to put it, or not a record that can be passed over: blocks as a passing fault
        await self._dead_letters.put(self._group, record, poison.reason)
        refused[place] = poison.reason
        metrics.DEAD_LETTERS.labels(self._group, record.topic).inc()
        _log.error("record sent to the dead letters", group=self._group, why=str(poison))

    async def _show(self, *, now: bool) -> None:
        if not now and time.monotonic() < self._next_show:
            return
        self._next_show = time.monotonic() + _SHOW_EVERY_S
        if self._generation != self._reader.generation:
            return
        await self._reader.show({part[1:]: position.next for part, position in self._at.items()})
        for (topic, partition), high in (await self._reader.highs()).items():
            position = self._at.get(GroupPartition(self._group, topic, partition))
            if position is not None:
                metrics.PARTITION_LAG.labels(self._group, topic, str(partition)).set(max(0, high - position.next))


def _place(record: Record) -> Place:
    return record.topic, record.partition, record.offset
