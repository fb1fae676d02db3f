"""Positions: the next offsets of a group, moved atomically with the effects of its records.

Kafka's own commits are only for lag displays. The authoritative positions are stored with the effects: in the table
`consumer_offsets` of the service's schema (`TablePositions`), or in a file of an index that is replaced atomically.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class GroupPartition(NamedTuple):
    """One partition of a topic, read by one group: the key of a position."""

    group: str
    topic: str
    partition: int


class Position(NamedTuple):
    """The next offset to handle, and the id of the topic that the offset belongs to."""

    topic_id: str
    next: int


class ZombieConsumer(Exception):
    """Another consumer has moved the positions, so it has the partitions. Roll back and load the positions again."""


@dataclass(frozen=True, slots=True)
class Move:
    """The move of a partition's position after its log was lost.

    Attributes:
        stored: stored position of the group.
        readable: nearest position from which the log can be read.
        skipped: number of records removed unread, as far as the offsets show it; 0: the topic was created again.
    """

    stored: Position
    readable: Position
    skipped: int


class LogLost(Exception):
    """The log no longer has the group's next record. The message says what to do; a retry does not help.

    Attributes:
        moves: affected partitions; empty if only the broker's error is known.
    """

    def __init__(self, message: str, moves: Mapping[GroupPartition, Move] | None = None) -> None:
        super().__init__(message)
        self.moves = dict(moves or {})


class TopicRecreated(LogLost):
    """The topic was deleted and created again: the group's positions belong to a deleted log."""


class OffsetOutsideLog(LogLost):
    """The next offset is before the start of the log (retention), or after its end (the log lost its tail)."""


class TopicGrown(LogLost):
    """Partitions were added while this group had records to read: the order of moved keys is lost."""


class Positions(Protocol[T_co]):
    """Stores the positions of a group together with the effects of its records.

    `T_co` is the handler's handle on the effect: an open transaction if positions are in a table, a writer if they are
    in the file of an index.
    """

    @property
    def place(self) -> str:
        """Name of the place where an operator finds the positions ("table offers.consumer_offsets")."""
        ...

    async def load(self, parts: Collection[GroupPartition]) -> dict[GroupPartition, Position]:
        """Return the known positions of `parts`; others are left out. Read-only."""
        ...

    async def begin(self, starts: Mapping[GroupPartition, Position]) -> None:
        """Store the first positions of partitions without one, durably. Existing ones stay: idempotent."""
        ...

    def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AbstractAsyncContextManager[T_co]:
        """Open an effect: the changes inside and the move from `expected` to `new` commit together or not at all.

        An exception undoes both. Both mappings have the same keys.

        Raises:
            ZombieConsumer: a stored position differs from the expected one (at the start or at the end).
        """
        ...
