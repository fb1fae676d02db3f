"""How far each shard has come into the index, and which senders are still heard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Admission(Enum):
    """Whether an element is taken in, or why it is dropped."""

    NEW = "new"
    REPEATED = "repeated"
    FENCED = "fenced"


@dataclass(slots=True)
class ShardMark:
    """What was seen of a shard: the highest fence of its lease, and the greatest element of each queue."""

    fence: int = 0
    reached: dict[int, int] = field(default_factory=dict)


class Watermarks:
    """Decides which index documents are new. No look-up per document: one number per shard and queue is enough, as the
    elements of a shard come in the order of their index, and a sender that lost the shard's lease has a lower fence.
    Neither number is given twice across a restore (ADR 0030).
    """

    def __init__(self, shards: dict[int, ShardMark] | None = None) -> None:
        self._shards = shards or {}

    @classmethod
    def at(cls, ends: Mapping[int, Mapping[int, int]]) -> Watermarks:
        """Return marks that stand at some elements, given by shard and queue; any sender is heard."""
        return cls({shard: ShardMark(reached=dict(reached)) for shard, reached in ends.items()})

    def admit(self, shard: int, queue: int, fence: int, idx: int) -> Admission:
        """Say whether the element is to be applied, and note it if so.

        A sender whose lease was taken over is refused by its fence, even for an element that nobody sent yet: the new
        holder sends it too. An element at or below what was reached is a repetition.
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
        """Return the greatest element of a queue that was admitted; 0 before the first."""
        mark = self._shards.get(shard)
        return mark.reached.get(queue, 0) if mark else 0

    def copy(self) -> Watermarks:
        """Return a copy that can be tried and thrown away."""
        return Watermarks({shard: ShardMark(mark.fence, dict(mark.reached)) for shard, mark in self._shards.items()})

    def dump(self) -> dict[str, dict[str, object]]:
        """Return the marks as JSON holds them."""
        return {
            str(shard): {"fence": mark.fence, "reached": {str(queue): idx for queue, idx in mark.reached.items()}}
            for shard, mark in self._shards.items()
        }

    @classmethod
    def load(cls, dumped: dict[str, dict[str, object]]) -> Watermarks:
        """Read what `dump` made."""
        shards = {}
        for shard, mark in dumped.items():
            reached = mark["reached"]
            if not isinstance(reached, dict):
                raise TypeError(f"watermark of shard {shard} is not an object")
            shards[int(shard)] = ShardMark(int(str(mark["fence"])), {int(q): int(i) for q, i in reached.items()})
        return cls(shards)
