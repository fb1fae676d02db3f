"""Positions of each shard in the index, and fences that reject former holders of its lease."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Admission(Enum):
    """Decision about an element: NEW is applied; REPEATED and FENCED are dropped."""

    NEW = "new"
    REPEATED = "repeated"
    FENCED = "fenced"


@dataclass(slots=True)
class ShardMark:
    """The highest fence of a shard's lease, and the greatest element of each of its queues, seen so far."""

    fence: int = 0
    reached: dict[int, int] = field(default_factory=dict)


class Watermarks:
    """Decides which index documents are new.

    It needs no lookup per document, only one number per shard and queue: the elements of a shard arrive in the order
    of their index, and a sender that lost the shard's lease has a lower fence. Neither number is assigned twice, even
    after a restore (ADR 0030).
    """

    def __init__(self, shards: dict[int, ShardMark] | None = None) -> None:
        self._shards = shards or {}

    @classmethod
    def at(cls, ends: Mapping[int, Mapping[int, int]]) -> Watermarks:
        """Return marks at some elements, given by shard and queue; every fence is admitted."""
        return cls({shard: ShardMark(reached=dict(reached)) for shard, reached in ends.items()})

    def admit(self, shard: int, queue: int, fence: int, idx: int) -> Admission:
        """Return whether to apply an element, and advance the marks if so.

        A sender whose lease was taken over is rejected by its fence, even for an element that is new: the new holder
        sends it, too. An element at or below the mark is a repetition.
        """
        mark = self._shards.setdefault(shard, ShardMark())
        if fence < mark.fence:
            return Admission.FENCED
        mark.fence = fence
        if idx <= mark.reached.get(queue, 0):
            return Admission.REPEATED
        mark.reached[queue] = idx
        return Admission.NEW

    def reached(self, shard: int, queue: int) -> int:
        """Return the index of the greatest admitted element of a queue; 0: none."""
        mark = self._shards.get(shard)
        return mark.reached.get(queue, 0) if mark else 0

    def copy(self) -> Watermarks:
        """Return a copy that can be changed and discarded."""
        return Watermarks({shard: ShardMark(mark.fence, dict(mark.reached)) for shard, mark in self._shards.items()})

    def dump(self) -> dict[str, dict[str, object]]:
        """Return the marks as JSON values."""
        return {
            str(shard): {"fence": mark.fence, "reached": {str(queue): idx for queue, idx in mark.reached.items()}}
            for shard, mark in self._shards.items()
        }

    @classmethod
    def load(cls, dumped: dict[str, dict[str, object]]) -> Watermarks:
        """Build the marks from the result of `dump`."""
        shards = {}
        for shard, mark in dumped.items():
            reached = mark["reached"]
            if not isinstance(reached, dict):
                raise TypeError(f"watermark of shard {shard} is not an object")
            shards[int(shard)] = ShardMark(int(str(mark["fence"])), {int(q): int(i) for q, i in reached.items()})
        return cls(shards)
