"""OrderedConsumer: each record takes effect exactly once, in partition order, despite crashes and rebalances.

Kafka's group assigns partitions; the stored positions say which offset is next (ADR 0004). Every effect moves the
positions of its partitions by compare-and-set. A consumer that has lost its partitions without noticing (a zombie)
changes nothing: it rolls back, loads the positions again and continues from there.
A partition whose record fails is retried separately while the others continue. A fault of a server that everything
needs blocks all partitions in the same way, until it passes.
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
from classifeed_common.pacing.duty_cycle import GATHER_TIMES, gather_records
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
    """Reads topics in order, and passes their records to `handle` inside the effect that moves the positions."""

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
        gather_times: float = GATHER_TIMES,
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
            group: consumer group that owns the positions.
            topics: topics to read.
            positions: store of positions; its effect is the first argument of `handle`.
            handle: handler of records; those of a partition come in order. It may run again with the same records after
                a rollback, and several times within one effect. For long work, record it and enqueue a job. `Poison`
                reports a permanent fault of a record; any other exception is retried without an end.
            dead_letters: receives poison; without it poison blocks its partition as a passing fault does.
            refuse: responds to the sender of a dead letter, in the effect that skips the record, in the order of
                records.
            on_log_lost: repairs the consequences when the log no longer has the next record, and moves the positions to
                where the log can be read (`LogLost.moves`); called until it returns. Without it the consumer ends.
            max_records: largest number of records in one effect.
            gather_s: longest linger in seconds after an effect, to collect records for the next. For effects whose cost
                per transaction dominates. There is no linger after a full effect, or for the first record after a quiet
                time.
            gather_times: linger as a multiple of the effect's duration; by default effects get at most a quarter of the
                time.
            assign_all: whether to read all partitions without a group (each replica has its own positions).
            refuses_misplaced: whether to send records to the dead letters if their key belongs to another partition, by
                the topic's present number: their sender still uses the number from before the topic was grown (ADR
                0060). For topics whose senders all choose partitions as `KafkaProducer` does.
            session_timeout_s: seconds of silence after which the group reassigns our partitions.
            max_poll_interval_s: the group's limit between polls in seconds; polling continues during slow handlers.
            max_backoff_s: longest pause between attempts after passing faults, in seconds.
            metadata_refresh_s: seconds within which new partitions of a topic are found.
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
        self._generation = 0  # of the reader, at the last takeover
        self._gaps: dict[GroupPartition, tuple[int, int]] = {}
        self._received_s = time.monotonic()
        self._next_show = 0.0
        self._next_partitions = 0.0
        self._next_comparison = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Read and handle until `stop` is set; the current effect is completed first. Run it once.

        Raises:
            TopicRecreated: the topic was deleted and created again.
            OffsetOutsideLog: the log no longer has the next record. Both messages say what to do; nothing was skipped.
                Only without `on_log_lost`.
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
        """Return what blocks this consumer, and why, by partition; for `Role.blocked`. Read-only."""
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
        """Return how many records of each topic the group (all its members) has not handled. Read-only.

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
            # librdkafka names the partition, but not the fix; the check of a takeover reports both.
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
        """Compare our positions with the stored ones, and our topics with the brokers', every few seconds.

        Without this, a restored table, or a recreated topic of the same length, would be noticed only at the next
        record.

        Raises:
            ZombieConsumer: the positions differ, although no effect is under way.
            TopicRecreated: a topic was created again.
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
            return  # effects wait for the same server, and report it
        moved = [part for part, position in self._at.items() if stored.get(part) != position]
        if moved:
            raise ZombieConsumer(f"the stored positions of {len(moved)} partitions were changed by another consumer")
        self._takeover.check_topics(self._at, states)

    @property
    def _is_ours(self) -> bool:
        """Whether the loaded positions are those of the present assignment."""
        return self._generation == self._reader.generation

    @property
    def _starves(self) -> bool:
        """Whether no record has come for a while although unblocked partitions have some."""
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
        """Return the next records of their partitions, without those handled and those after a gap."""
        nexts = {part[1:]: position.next for part, position in self._at.items() if part not in self._blocked}
        batch: list[Record] = []
        gap = False
        for record in records:
            place = (record.topic, record.partition)
            at = nexts.get(place)
            if at is None or record.offset < at:
                continue
            if record.offset > at and not self._is_real_gap(GroupPartition(self._group, *place), at, record.offset):
                del nexts[place]  # take nothing after the gap from this batch
                gap = True
                continue
            nexts[place] = record.offset + 1
            batch.append(record)
        if gap:
            self._reader.held = True  # fetch again from our position
        return batch

    def _is_real_gap(self, part: GroupPartition, at: int, offset: int) -> bool:
        # Compaction and aborted transactions leave holes in the offsets. A stale fetch looks the same and would lose
        # records. So a hole counts only if it is still there after a new seek.
        if self._gaps.get(part) == (at, offset):
            return True
        self._gaps[part] = (at, offset)
        return False

    async def _apply(self, batch: Sequence[Record]) -> None:
        """Handle a batch, small partitions first."""
        parts: dict[GroupPartition, list[Record]] = {}
        for record in batch:
            parts.setdefault(self._part_of(record), []).append(record)
        for piece in light_first(parts):
            if self._is_ours:
                await self._apply_piece(piece)

    async def _apply_piece(self, parts: Mapping[GroupPartition, Sequence[Record]]) -> None:
        """Make one attempt for all partitions; if one of them fails it, make one for each."""
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
        """Handle records of some partitions in one effect; return the error of a failure, or None.

        Raises:
            ZombieConsumer, LogLost: the partitions or their logs are not the expected ones.
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
        except BaseException as error:  # noqa: BLE001 - after any error, skipping the record would lose it
            return error
        self._at.update(new)
        for part, position in new.items():
            metrics.HANDLED.labels(self._group, part.topic).inc(position.next - expected[part].next)
            if self._blocked.unblock(part):
                self._reader.held = True  # records fetched from it meanwhile were dropped
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
