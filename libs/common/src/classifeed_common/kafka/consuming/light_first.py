"""The order within a poll: partitions with few bytes come before those with many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from classifeed_common.kafka.positions import GroupPartition
from classifeed_common.kafka.records import Record

# Some tens of milliseconds of work; less is not worth a separate effect.
HEAVY_BYTES: Final = 256 * 1024
_LIGHT_SHARE: Final = 8


def light_first(
    parts: Mapping[GroupPartition, Sequence[Record]],
) -> list[dict[GroupPartition, Sequence[Record]]]:
    """Split `parts` into one or two pieces, each for one effect: first the light partitions, then the others.

    A sender of few bytes does not wait for the effect of a sender of many. Partitions have no order among each other,
    and a piece has all polled records of its partitions. If no partition has `HEAVY_BYTES` or more, there is one piece,
    so that a usual poll costs one transaction.
    """
    sizes = {part: sum(len(record.value) for record in records) for part, records in parts.items()}
    heaviest = max(sizes.values(), default=0)
    light = {part for part, size in sizes.items() if heaviest >= HEAVY_BYTES and size * _LIGHT_SHARE <= heaviest}
    pieces: list[dict[GroupPartition, Sequence[Record]]] = [
        {part: records for part, records in parts.items() if (part in light) is is_light} for is_light in (True, False)
    ]
    return [piece for piece in pieces if piece]
