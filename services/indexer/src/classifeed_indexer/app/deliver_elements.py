"""Deliver the elements of one client's shards, in rounds over all shards that this process holds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final, Protocol

import structlog

from classifeed_common.clock import Clock
from classifeed_common.errors import FailedPrecondition
from classifeed_common.kafka import Message
from classifeed_common.lease import Lease
from classifeed_common.loops import Loop, Looping, race
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry.tracing import queue_spans
from classifeed_indexer.app.convert_elements import ConvertElements
from classifeed_indexer.app.raise_unforeseen import raise_unforeseen
from classifeed_indexer.app.reposition_shard import lost_queue, reposition_shard
from classifeed_indexer.clients.receiver import Elements, ReceiverClient
from classifeed_indexer.domain.shards import ShardQueue, parse_lease_name
from classifeed_indexer.store.offsets import Move, Offsets

_log = structlog.get_logger(__name__)

_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 5.0
# An unknown error of one shard needs an operator. Until it is fixed, the other shards continue without that shard.
_STUCK_PAUSE_S: Final = 30.0
# After a shard's lease was found expired, the keeper of the leases gets time to check it before the next attempt.
_LEASE_PAUSE_S: Final = 1.0
_READ_ELEMENTS: Final = 100
_READ_WAIT_S: Final = 2.0
_REPORT_INTERVAL_S: Final = 1.0
# The queues are trimmed without regard to a group that reports nothing for long.
_UNCHANGED_REPORT_INTERVAL_S: Final = 60.0


class Producer(Protocol):
    """Sends messages, as KafkaProducer does."""

    async def send(self, messages: list[Message]) -> None:
        """Send messages; return after all are acknowledged."""


class Deliverer(Looping):
    """Delivers the elements of the shards whose leases it was given.

    A round reads all shards at once, converts, sends, appends failures to `failed`, and only then moves the offsets.
    If a step fails, the next round reads the same elements again: delivery is at least once, with the same idx.

    Args:
        receiver: client of the receiver.
        offsets: offsets of the group and client.
        producer: producer of the topic of the client.
        clock: clock of pauses and reports.
        group: consumer group.
        read_wait_s: seconds for which a read waits at the receiver for new elements.
        report_interval_s: seconds between two reports of moved offsets to the receiver.
    """

    loop: Loop

    def __init__(
        self,
        receiver: ReceiverClient,
        offsets: Offsets,
        producer: Producer,
        clock: Clock,
        *,
        group: str,
        read_wait_s: float = _READ_WAIT_S,
        report_interval_s: float = _REPORT_INTERVAL_S,
    ) -> None:
        self._receiver = receiver
        self._offsets = offsets
        self._producer = producer
        self._clock = clock
        self._group = group
        self._read_wait_s = read_wait_s
        self._report_interval_s = report_interval_s
        self._convert = ConvertElements(receiver, clock)
        self._leases: dict[int, Lease] = {}
        self._delivered: dict[ShardQueue, int] = {}
        self._rests_until_s: dict[int, float] = {}
        self._stuck: dict[int, str] = {}
        self._changed = asyncio.Event()
        self.loop = Loop(
            self._deliver_or_reposition,
            period_s=_LEASE_PAUSE_S,
            name=f"{receiver.client} documents",
            doing="delivery",
            effect="The search stays as it was",
            backoff=Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S),
            wake=self._changed,
            on_fault=raise_unforeseen,
            event="indexer.delivery.waits",
            clock=clock,
        )
        self._round = asyncio.Lock()
        self._report_due = False
        self._reported_at_s = float("-inf")

    @property
    def leases(self) -> Mapping[int, Lease]:
        """The lease of each shard held."""
        return self._leases

    def delivered(self, key: ShardQueue) -> int:
        """Return the index of the last delivered element of a queue; 0: none."""
        return self._delivered.get(key, 0)

    def blocked(self) -> Mapping[str, str]:
        """Return the shards that are stuck, and the fault that stops all delivery, each with its reason."""
        stuck = {f"{self._receiver.client} shard {shard}": why for shard, why in self._stuck.items()}
        return {**stuck, **self.loop.blocked()}

    async def gain(self, lease: Lease) -> None:
        """Begin to deliver a shard from its group's offsets."""
        _, shard = parse_lease_name(lease.name)
        delivered = await self._offsets.add(shard)
        self._leases[shard] = lease
        self._rests_until_s.pop(shard, None)
        self._delivered |= delivered
        self._report_due = True  # from now on the group counts when the queue is trimmed
        self._changed.set()

    async def lose(self, lease: Lease) -> None:
        """Stop work under the lease; return once none is in progress."""
        _, shard = parse_lease_name(lease.name)
        if self._leases.get(shard) == lease:
            self._forget(shard)
        self._changed.set()
        async with self._round:
            return

    async def deliver_once(self) -> int:
        """Do one round over the shards held; return the number of elements delivered or appended to `failed`.

        Raises:
            DomainError, psycopg.Error: a dependency is unavailable, or a shard's cursor is lost.
        """
        async with self._round:
            self._changed.clear()
            leases = self._active()
            if not leases:
                return 0
            read = await self._read({key: idx for key, idx in self._delivered.items() if key.shard in leases})
            # We may have lost shards while we waited; their next holder delivers their elements.
            leases = {shard: lease for shard, lease in leases.items() if self._leases.get(shard) == lease}
            ours = [element for element in read.elements if element.key.shard in leases]
            carried = {element.position: element.traceparent for element in ours if element.traceparent}
            with queue_spans("process", self._receiver.client, carried) as traces:
                messages, failures = await self._convert(ours, leases, traces)
                if messages:
                    with self.loop.fault.waiting_for(f"Kafka to acknowledge {len(messages)} documents"):
                        await self._producer.send(messages)
                if failures:
                    _log.warning("indexer.documents.failed", client=self._receiver.client, count=len(failures))
                    await self._receiver.append_failed(failures)
                await self._move({key: idx for key, idx in read.next.items() if key.shard in leases}, leases)
            await self._report()
            return len(ours)

    async def _deliver_or_reposition(self) -> bool:
        """Do one round; return whether a shard is held that is not paused."""
        try:
            await self.deliver_once()
        except FailedPrecondition as error:
            key = lost_queue(error)
            if key is None:
                self._rest_stuck(error)
            else:
                await self._reposition(key, error)
        return bool(self._active())

    async def _reposition(self, key: ShardQueue, error: FailedPrecondition) -> None:
        async with self._round:
            lease = self._leases.get(key.shard)
            if lease is None:
                return
            offsets, group = self._offsets, self._group
            idx = await reposition_shard(self._receiver, offsets, group, error, self._delivered[key], lease)
            if idx is None:
                self._delivered |= await offsets.add(key.shard)
                self._rests_until_s[key.shard] = self._clock.monotonic_s() + _LEASE_PAUSE_S
            else:
                self._delivered[key] = idx
                self._report_due = True

    def _active(self) -> dict[int, Lease]:
        now_s = self._clock.monotonic_s()
        active = {s: lease for s, lease in self._leases.items() if self._rests_until_s.get(s, 0) <= now_s}
        for shard in active:
            self._stuck.pop(shard, None)  # it is tried again
        return active

    async def _read(self, cursors: Mapping[ShardQueue, int]) -> Elements:
        """Read elements; return none if the set of leases changes while the read waits."""
        read = self._receiver.read(cursors, limit=_READ_ELEMENTS, wait_s=self._read_wait_s)
        [reading] = await race(self._changed, read)
        return Elements((), {}) if reading.cancelled() else reading.result()

    async def _move(self, reached: Mapping[ShardQueue, int], leases: Mapping[int, Lease]) -> None:
        moves = [Move(key, self._delivered[key], idx) for key, idx in reached.items() if key in self._delivered]
        if not moves:
            return
        result = await self._offsets.move(moves, {move.key.shard: leases[move.key.shard] for move in moves})
        lost: set[int] = set()
        for move in moves:
            shard = move.key.shard
            if self._leases.get(shard) != leases[shard]:
                continue
            if move.key in result.moved:
                self._delivered[move.key] = move.idx
                self._report_due = True
            elif shard not in result.held:
                # Expired or taken over: the keeper of the leases finds out which, and calls `lose` if another took it.
                lost.add(shard)
                self._rests_until_s[shard] = self._clock.monotonic_s() + _LEASE_PAUSE_S
            else:
                # Only an operator moves offsets of a shard that is held: continue from the new ones.
                _log.warning("indexer.offset.moved_from_outside", client=self._receiver.client, shard=shard)
                self._delivered |= await self._offsets.add(shard)
        if lost:
            _log.warning("indexer.leases.lost", client=self._receiver.client, shards=sorted(lost))

    async def _report(self) -> None:
        now_s = self._clock.monotonic_s()
        since_s = now_s - self._reported_at_s
        is_due = self._report_due and since_s >= self._report_interval_s
        if self._delivered and (is_due or since_s >= _UNCHANGED_REPORT_INTERVAL_S):
            await self._receiver.report(self._group, self._delivered)
            self._report_due = False
            self._reported_at_s = now_s

    def _rest_stuck(self, error: FailedPrecondition) -> None:
        """Pause the shard that the receiver names, or all shards if it names none of ours.

        The error's text contains the fix.
        """
        shard = int(error.metadata.get("shard", -1))
        _log.error("indexer.shard.stuck", client=self._receiver.client, shard=shard, error=str(error))
        for held in [shard] if shard in self._leases else list(self._leases):
            self._rests_until_s[held] = self._clock.monotonic_s() + _STUCK_PAUSE_S
            self._stuck[held] = error.message

    def _forget(self, shard: int) -> None:
        self._leases.pop(shard, None)
        self._rests_until_s.pop(shard, None)
        self._stuck.pop(shard, None)
        for key in [key for key in self._delivered if key.shard == shard]:
            del self._delivered[key]
