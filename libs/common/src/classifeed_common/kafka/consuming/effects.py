"""Effects: handles records in one effect that also moves the positions; records with a permanent fault are skipped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

import structlog

from classifeed_common.kafka.consuming.takeover import Takeover
from classifeed_common.kafka.dead_letters import DeadLetters, Poison
from classifeed_common.kafka.partitioner import misplaced
from classifeed_common.kafka.positions import GroupPartition, Position, Positions
from classifeed_common.kafka.records import Record
from classifeed_common.kafka.traces import processing
from classifeed_common.telemetry import metrics

_log = structlog.get_logger(__name__)

T = TypeVar("T")
Place = tuple[str, int, int]


class Effects(Generic[T]):
    """Applies batches of records for a consumer; see OrderedConsumer for the arguments."""

    def __init__(
        self,
        group: str,
        positions: Positions[T],
        takeover: Takeover,
        handle: Callable[[T, Sequence[Record]], Awaitable[None]],
        dead_letters: DeadLetters | None,
        refuse: Callable[[T, Record, str], Awaitable[None]] | None,
        *,
        refuses_misplaced: bool = False,
    ) -> None:
        self._group = group
        self._positions = positions
        self._takeover = takeover
        self._handle = handle
        self._dead_letters = dead_letters
        self._refuse = refuse
        self._refuses_misplaced = refuses_misplaced

    async def apply(
        self,
        batch: Sequence[Record],
        expected: Mapping[GroupPartition, Position],
        new: Mapping[GroupPartition, Position],
    ) -> None:
        """Handle `batch` and move the positions, both or neither.

        Raises:
            ZombieConsumer: another consumer has moved the positions.
            TopicRecreated: the topic was created again, so the positions belong to another log.
            Exception: any error of the handler; nothing happened, except that dead letters may have been sent.
        """
        # Read after the poll and before the effect: if the id is unchanged, these records are from our log.
        states = await self._takeover.states({part.topic for part in expected})
        self._takeover.check_topics(expected, states)
        refused: dict[Place, str] = {}
        if self._refuses_misplaced:
            faults = misplaced(batch, {topic: state.partitions for topic, state in states.items()})
            if faults:
                first, *others = faults
                poison = Poison(first.record, first.reason, [(each.record, each.reason) for each in others])
                await self._send_to_dead_letters(poison, batch, refused)
        with processing(self._group, batch):
            while True:
                try:
                    async with self._positions.effect(expected, new) as tx:
                        await self._handle_around(tx, batch, refused)
                except Poison as poison:
                    await self._send_to_dead_letters(poison, batch, refused)
                else:
                    return

    async def _handle_around(self, tx: T, batch: Sequence[Record], refused: Mapping[Place, str]) -> None:
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

    async def _send_to_dead_letters(self, poison: Poison, batch: Sequence[Record], refused: dict[Place, str]) -> None:
        faults = {_place(record): (record, reason) for record, reason in poison.others}
        faults[_place(poison.record)] = (poison.record, poison.reason)
        places = set(map(_place, batch))
        if self._dead_letters is None or any(place in refused or place not in places for place in faults):
            raise poison  # no dead letters, or no record of this batch: it blocks the partition as a passing fault does
        for place, (record, reason) in faults.items():
            await self._dead_letters.put(self._group, record, reason)
            refused[place] = reason
            metrics.DEAD_LETTERS.labels(self._group, record.topic).inc()
            _log.error(
                "consumer.record.refused",
                group=self._group,
                topic=record.topic,
                partition=record.partition,
                offset=record.offset,
                reason=reason,
            )


def _place(record: Record) -> Place:
    return record.topic, record.partition, record.offset
