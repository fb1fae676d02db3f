"""OrderedConsumer: each record takes effect once, in the order of its partition, through kills, zombies and rebalances.

Kafka's group says which partitions are ours; the stored positions say where we stand (ADR 0004). Every effect moves the
positions of all polled partitions by compare-and-set, so that a consumer that lost its partitions without knowing it
changes nothing: it rolls back, loads the positions again and goes on from there.

A partition whose record fails waits by itself and is tried again; the others go on. Faults of the servers that
everything needs hold up all of them in the same way, and pass.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar

import structlog

from classifeed_common.faults.interruptions import INTERRUPTIONS
from classifeed_common.kafka.consuming.attempts import Abandoned, Attempts, is_of_the_surroundings
from classifeed_common.kafka.consuming.blocked import BlockedPartitions
from classifeed_common.kafka.consuming.effects import Effects
from classifeed_common.kafka.consuming.lag import LagGauges
from classifeed_common.kafka.consuming.light_first import light_first
from classifeed_common.kafka.consuming.membership import Membership
from classifeed_common.kafka.consuming.reader import PartitionReader
from classifeed_common.kafka.consuming.takeover import Takeover
from classifeed_common.kafka.dead_letters import DeadLetters
from classifeed_common.kafka.positions import (
    GroupPartition,
    LogLost,
    OffsetOutsideLog,
    Position,
    Positions,
    ZombieConsumer,
)
from classifeed_common.kafka.records import Record
from classifeed_common.kafka.topics.cluster import Cluster
from classifeed_common.pacing.gathering import TIMES, gather_records
from classifeed_common.telemetry import metrics

_log = structlog.get_logger(__name__)

T = TypeVar("T")

_POLL_S: Final = 0.2
_SHOW_EVERY_S: Final = 1.0
_PARTITIONS_EVERY_S: Final = 30.0
_LONG_ATTEMPT_S: Final = 60.0
_SHORTEST_MAX_WAIT_S: Final = 15.0
_STARVING_S: Final = 30.0
_COMPARE_EVERY_S: Final = 10.0


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
        on_log_lost: Callable[[LogLost], Awaitable[None]] | None = None,
        max_records: int = 500,
        gather_s: float = 0.0,
        gather_times: float = TIMES,
        assign_all: bool = False,
        refuses_misplaced: bool = False,
        session_timeout_s: float = 10.0,
        max_poll_interval_s: float = 60.0,
        max_backoff_s: float = 5.0,
        metadata_refresh_s: float = 30.0,
    ) -> None:
        """Prepare a consumer; `run` connects it.

        Args:
            bootstrap: addresses of brokers, comma separated.
            group: who reads; positions belong to it.
            topics: what is read.
            positions: where the group stands; its effect is what `handle` works in.
            handle: does the work of records, those of a partition in order. It may run again with the same records (its
                effect was rolled back then), and several times within one effect. No long work: record it and enqueue
                a job. `Poison` reports a record's lasting fault; any other exception passes and is retried for ever.
            dead_letters: takes poison; without it poison blocks its partition as a passing fault does.
            refuse: responds to the sender of a dead letter, in the effect that passes it over, in the order of records.
            on_log_lost: repairs what it means that the log no longer has the next record, and moves the positions to
                where the log can be read (`LogLost.moves`); called until it returns. Without it the consumer ends.
            max_records: how many records one effect takes at most.
            gather_s: the longest pause after an effect in which the next one's records gather. For effects that are
                dear by themselves, few records or many. None after as many records as one effect takes, or the first
                one in a quiet hour: it has nothing to wait for.
            gather_times: the pause in durations of the effect; by default effects get a quarter of the time at most.
            assign_all: read all partitions without a group (each replica has positions of its own).
            refuses_misplaced: send a record to the dead letters whose key belongs to another partition by the number
                that the topic has now: its sender lives with the number from before it was grown (ADR 0060). For topics
                whose senders all choose partitions as `KafkaProducer` does.
            session_timeout_s: after this silence the group gives our partitions to others.
            max_poll_interval_s: the group's limit between polls; a slow handler does not reach it, as polling goes on.
            max_backoff_s: the longest pause between attempts after passing faults.
            metadata_refresh_s: after which partitions that a topic was given are found, at the latest.
        """
        self._group = group
        self._topics = list(topics)
        self._positions = positions
        self._max_records = max_records
        self._gather_s = gather_s
        self._gather_times = gather_times
        self._assign_all = assign_all
        self._cluster = Cluster(bootstrap, client_id=group)
        self._takeover = Takeover(self._cluster, group, positions)
        self._effects = Effects(
            group,
            positions,
            self._takeover,
            handle,
            dead_letters,
            refuse,
            refuses_misplaced=refuses_misplaced,
        )
        self._reader = PartitionReader(
            bootstrap=bootstrap,
            group=group,
            topics=topics,
            subscribed=not assign_all,
            session_timeout_s=session_timeout_s,
            max_poll_interval_s=max_poll_interval_s,
            metadata_refresh_s=metadata_refresh_s,
        )
        self._attempts = Attempts(
            self._reader, group, quick_s=min(5.0, max_poll_interval_s / 4), max_pause_s=max_backoff_s
        )
        self._membership = Membership(
            self._reader, bootstrap, group, max_wait_s=max(_SHORTEST_MAX_WAIT_S, 2 * session_timeout_s)
        )
        self._on_log_lost = on_log_lost
        self._blocked = BlockedPartitions(max_pause_s=max_backoff_s)
        self._lag = LagGauges(self._cluster)
        self._at: dict[GroupPartition, Position] = {}
        self._generation = 0  # of the reader, as of our last takeover
        self._gaps: dict[GroupPartition, tuple[int, int]] = {}
        self._received_s = time.monotonic()
        self._next_show = 0.0
        self._next_partitions = 0.0
        self._next_comparison = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Read and handle until `stop` is set; the effect in hand is finished first. Run it once.

        Raises:
            TopicRecreated: the topic was made again under our positions.
            OffsetOutsideLog: the log no longer has the next record. Both say what to do; nothing was skipped. Only
                without `on_log_lost`.
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
                    _log.warning("consumer.effect.rolled_back", group=self._group, why=str(zombie))
                    self._generation = -1  # load the positions again
                except LogLost as lost:
                    await self._mend(lost, stop)
        finally:
            await self._show(now=True)
            await self._lag.close()
            self._blocked.clear()
            await self._membership.close()
            await self._reader.close()
            self._cluster.close()

    def blocked(self) -> dict[str, str]:
        """Return what this consumer cannot go on with, and why, by partition; for `Role.blocked`. No effect."""
        found = self._blocked.describe()
        if self._attempts.fault:
            found["positions"] = f"cannot be loaded: {self._attempts.fault}. Loading is retried."
        began_s = self._attempts.under_way_since_s
        if began_s is not None and time.monotonic() - began_s > _LONG_ATTEMPT_S:
            found["attempt"] = f"has run for {time.monotonic() - began_s:.0f} s; nothing else is handled meanwhile"
        if words := self._membership.describe():
            found["membership"] = words
        return found

    async def backlog(self) -> dict[str, int]:
        """Return how many records each topic has that the group (all its members) has not handled. No effect.

        Raises:
            Unavailable: the brokers did not respond.
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
        await self._membership.keep(starves=self._starves)
        if self._generation != self._reader.generation:
            await self._take_over(stop)
        try:
            records = await self._reader.poll(self._max_records, self._blocked.due_in_s(_POLL_S))
        except OffsetOutsideLog:
            # librdkafka knows the partition, not the fix; the check of a takeover finds both.
            await self._take_over(stop)
            return
        if records:
            self._received_s = time.monotonic()
        if self._is_ours:
            await self._apply(self._in_order(records))
        if self._is_ours:
            await self._apply(self._blocked.due())
        if self._is_ours and self._reader.held:
            await self._read_on()
        await self._compare()
        await self._show(now=False)
        if self._gather_s and 0 < len(records) < self._max_records:
            await gather_records(self._received_s, stop, longest_s=self._gather_s, times=self._gather_times)

    async def _compare(self) -> None:
        """Compare our positions with the stored ones, and our topics with those of the brokers, now and then.

        A restored table, or a topic made again and as long as the old one, is noticed at a record only.

        Raises:
            ZombieConsumer: the positions differ, although no effect is under way.
            TopicRecreated: a topic is another one.
        """
        if not self._is_ours or time.monotonic() < self._next_comparison:
            return
        self._next_comparison = time.monotonic() + _COMPARE_EVERY_S
        try:
            stored = await self._positions.load(list(self._at))
            states = await self._takeover.states(self._topics)
        except Exception as error:
            if not is_of_the_surroundings(error):
                raise
            return  # effects wait for the same, and say so
        moved = [part for part, position in self._at.items() if stored.get(part) != position]
        if moved:
            raise ZombieConsumer(f"the stored positions of {len(moved)} partitions were changed by another consumer")
        self._takeover.check_topics(self._at, states)

    @property
    def _is_ours(self) -> bool:
        """Whether the partitions are those whose positions we loaded."""
        return self._generation == self._reader.generation

    @property
    def _starves(self) -> bool:
        """Whether nothing has come for a while although there is something that is not blocked."""
        return time.monotonic() - self._received_s > _STARVING_S and any(
            lag and part not in self._blocked for part, lag in self._lag.measured.items()
        )

    async def _take_all(self, stop: asyncio.Event) -> None:
        if time.monotonic() < self._next_partitions:
            return
        states = await self._attempts.repeat(lambda: self._takeover.states(self._topics), stop)
        await self._reader.take(frozenset((t, at) for t, state in states.items() for at in range(state.partitions)))
        self._next_partitions = time.monotonic() + _PARTITIONS_EVERY_S

    async def _take_over(self, stop: asyncio.Event) -> None:
        generation, assigned = self._reader.generation, self._reader.assigned
        self._blocked.clear()
        self._gaps.clear()
        self._lag.clear()
        self._at = await self._attempts.repeat(lambda: self._takeover.positions_of(assigned), stop)
        self._generation = generation
        await self._read_on()
        _log.info("consumer.partitions.taken_over", group=self._group, partitions=len(self._at))

    async def _mend(self, lost: LogLost, stop: asyncio.Event) -> None:
        on_log_lost = self._on_log_lost
        if on_log_lost is None:
            raise lost
        self._generation = -1
        if not lost.moves:
            return  # the next takeover finds where the log can be read
        _log.error("consumer.log.lost", group=self._group, error=str(lost))
        await self._attempts.repeat(lambda: on_log_lost(lost), stop)

    async def _read_on(self) -> None:
        await self._reader.read_from(
            self._generation,
            {part[1:]: position.next for part, position in self._at.items()},
            paused=[part[1:] for part in self._blocked],
        )

    def _in_order(self, records: Sequence[Record]) -> list[Record]:
        """Return the records that come next in their partitions, without those handled and those after a gap."""
        nexts = {part[1:]: position.next for part, position in self._at.items() if part not in self._blocked}
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

    async def _apply(self, batch: Sequence[Record]) -> None:
        """Handle a batch, what is light in it first."""
        parts: dict[GroupPartition, list[Record]] = {}
        for record in batch:
            parts.setdefault(self._part_of(record), []).append(record)
        for piece in light_first(parts):
            if self._is_ours:
                await self._apply_piece(piece)

    async def _apply_piece(self, parts: Mapping[GroupPartition, Sequence[Record]]) -> None:
        """Make one attempt for all partitions, then, if that failed by one of them, one for each."""
        fault = await self._try(parts)
        if fault is None:
            return
        if len(parts) > 1 and not is_of_the_surroundings(fault):
            faults = [(part, await self._try({part: records})) for part, records in parts.items() if self._is_ours]
        else:
            faults = [(part, fault) for part in parts]
        if not self._is_ours:
            return
        failed = {part: each for part, each in faults if each is not None}
        for part, each in failed.items():
            self._blocked.block(part, parts[part], each)
        await self._reader.pause([part[1:] for part in failed])

    async def _try(self, parts: Mapping[GroupPartition, Sequence[Record]]) -> BaseException | None:
        """Handle records of some partitions in one effect; returns why that failed, or None.

        Raises:
            ZombieConsumer, LogLost: the partitions, or their log, are not what we take them for.
        """
        for part, records in parts.items():
            self._lag.begin(part, records[0].timestamp_ms)
        expected = {part: self._at[part] for part in sorted(parts)}
        new = {part: Position(at.topic_id, parts[part][-1].offset + 1) for part, at in expected.items()}
        batch = [record for records in parts.values() for record in records]
        try:
            await self._attempts.once(lambda: self._effects.apply(batch, expected, new))
        except (ZombieConsumer, LogLost, *INTERRUPTIONS):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, skipping the record would lose it
            return error
        self._at.update(new)
        for part, position in new.items():
            metrics.HANDLED.labels(self._group, part.topic).inc(position.next - expected[part].next)
            if self._blocked.unblock(part):
                self._reader.held = True  # what was fetched of it meanwhile was dropped
        return None

    async def _show(self, *, now: bool) -> None:
        if not now and time.monotonic() < self._next_show:
            return
        self._next_show = time.monotonic() + _SHOW_EVERY_S
        if not self._is_ours:
            return
        await self._reader.show({part[1:]: position.next for part, position in self._at.items()})
        self._blocked.show()
        self._lag.measure(self._at, self._blocked.ages_s())

    def _part_of(self, record: Record) -> GroupPartition:
        return GroupPartition(self._group, record.topic, record.partition)
