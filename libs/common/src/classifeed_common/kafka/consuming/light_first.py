"""What of a poll is handled first: partitions with little in it, before those with much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from classifeed_common.kafka.positions import GroupPartition
from classifeed_common.kafka.records import Record

# Some tens of milliseconds of work; less is not worth an effect of its own.
HEAVY_BYTES: Final = 256 * 1024
_LIGHT_SHARE: Final = 8


def light_first(
    parts: Mapping[GroupPartition, Sequence[Record]],
) -> list[dict[GroupPartition, Sequence[Record]]]:
    """Return `parts` in one or two pieces, each for one effect: those light beside the heaviest, then the others.

    Whoever sent little does not wait for the effect of whoever sent much. Partitions have no order among each other,
    and a piece holds all that was polled of its partitions. There is one piece unless a partition has `HEAVY_BYTES` or
    more, so that usual polls cost one transaction, as before.
    """
    sizes = {part: sum(len(record.value) for record in records) for part, records in parts.items()}
    heaviest = max(sizes.values(), default=0)
    light = {part for part, size in sizes.items() if heaviest >= HEAVY_BYTES and size * _LIGHT_SHARE <= heaviest}
    pieces: list[dict[GroupPartition, Sequence[Record]]] = [
        {part: records for part, records in parts.items() if (part in light) is is_light} for is_light in (True, False)
    ]
    return [piece for piece in pieces if piece]
