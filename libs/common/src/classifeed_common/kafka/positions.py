"""Where a group stands: the positions that an effect moves in the same step as it takes hold.

Kafka's own commits are for lag displays only. The truth lies beside the effects: in the table `consumer_offsets` of the
service's schema (`TablePositions`), or in a file beside an index that can be swapped in one step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class GroupPartition(NamedTuple):
    """One partition of a topic as one group sees it: what a position belongs to."""

    group: str
    topic: str
    partition: int


class Position(NamedTuple):
    """The next offset to handle, and the id of the topic that the offset was counted in."""

    topic_id: str
    next: int


class ZombieConsumer(Exception):
    """The positions moved behind our back: another consumer has the partitions. Roll back, load them again, go on."""


@dataclass(frozen=True, slots=True)
class Move:
    """Where a lost log leaves a partition.

    Attributes:
        stored: Where the group stands by its stored position.
        readable: The nearest position from which the log can be read.
        skipped: Records that were removed unread, as far as the offsets show: 0 where the log was made again.
    """

    stored: Position
    readable: Position
    skipped: int


class LogLost(Exception):
    """The log no longer has what this group has to read next. The message says what to do; no retry heals it.

    Attributes:
        moves: Each partition that it is about; empty where only the broker's word is known.
    """

    def __init__(self, message: str, moves: Mapping[GroupPartition, Move] | None = None) -> None:
        super().__init__(message)
        self.moves = dict(moves or {})


class TopicRecreated(LogLost):
    """The topic was deleted and created again: the group's positions count in a log that is gone."""


class OffsetOutsideLog(LogLost):
    """The next offset lies before the start of the log (retention) or after its end (the log lost its tail)."""


class TopicGrown(LogLost):
    """The topic got further partitions while this group had records to read: the order of keys that moved is lost."""


class Positions(Protocol[T_co]):
    """Keeps the positions of a group together with the effects of its records.

    `T_co` is what the handler works with: an open transaction where positions lie in a table, a writer where they lie
    in a file beside an index.
    """

    @property
    def place(self) -> str:
        """Where an operator finds the positions, in words ("table offers.consumer_offsets")."""
        ...

    async def load(self, parts: Collection[GroupPartition]) -> dict[GroupPartition, Position]:
        """Return the positions known for `parts`; those never begun are left out. No effect."""
        ...

    async def begin(self, starts: Mapping[GroupPartition, Position]) -> None:
        """Write the first positions of partitions that have none, durably. One that is there stays: idempotent."""
        ...

    def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AbstractAsyncContextManager[T_co]:
        """Open one effect: what happens inside and the move from `expected` to `new` hold together or not at all.

        Leaving with an exception undoes both. Both mappings have the same keys.

        Raises:
            ZombieConsumer: a stored position differs from the expected one (on entering or on leaving).
        """
        ...
