"""Cursors of readers: whether one belongs to the queue that it is read with, and the error of one that does not.

A queue that was restored from a backup gives no index twice (ADR 0030), so a cursor of what it held before matches none
of its elements, and is distinguished from one that was trimmed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from classifeed_common.errors import FailedPrecondition


class ShardKey(NamedTuple):
    """One shard of one queue; the numbers of the queues are those of the proto's IndexQueue."""

    queue: int
    shard: int


class ShardEnds(NamedTuple):
    """The last element that a shard's queue was given, and the last one that was trimmed; 0: none."""

    last_idx: int
    trimmed_idx: int


NO_ELEMENTS: Final = ShardEnds(last_idx=0, trimmed_idx=0)


def find_due(client: str, cursors: Mapping[ShardKey, int], ends: Mapping[ShardKey, ShardEnds]) -> dict[ShardKey, int]:
    """Return the cursors with something behind them.

    Raises:
        FailedPrecondition: a cursor lies in the trimmed part of its queue, or beyond its end.
    """
    due = {}
    for key, idx in cursors.items():
        end = ends.get(key, NO_ELEMENTS)
        check_cursor(client, key, idx, end, is_known=idx <= end.last_idx)
        if idx < end.last_idx:
            due[key] = idx
    return due


def check_cursor(client: str, key: ShardKey, idx: int, end: ShardEnds, *, is_known: bool) -> None:
    """Pass a cursor behind which nothing is missing.

    Args:
        client: whose queue.
        key: which queue and shard.
        idx: the cursor.
        end: where the queue ends.
        is_known: whether the queue has this element, or trimmed it last.

    Raises:
        FailedPrecondition: CURSOR_TRIMMED or CURSOR_UNKNOWN; the metadata names queue, shard and ends.
    """
    if idx < end.trimmed_idx:
        raise FailedPrecondition(
            "CURSOR_TRIMMED",
            f"The cursor {idx} of {client}, queue {key.queue}, shard {key.shard} is before {end.trimmed_idx}, the "
            f"last element that was trimmed: elements in between are lost. Have the shard refilled from the registry "
            f"(IndexQueueService.Refill), unless this group has delivered them before, and continue at "
            f"{end.trimmed_idx}.",
            metadata=_metadata_of(client, key, end),
        )
    if not is_known:
        raise unknown_cursor(client, key, idx, end)


def unknown_cursor(client: str, key: ShardKey, idx: int, end: ShardEnds) -> FailedPrecondition:
    """Return the error of a cursor that belongs to no element of this queue."""
    return FailedPrecondition(
        "CURSOR_UNKNOWN",
        f"The cursor {idx} of {client}, queue {key.queue}, shard {key.shard} is not an element of this queue, which "
        f"ends at {end.last_idx}: the receiver's database was restored from a backup that is older than the cursor. "
        f"Continue at {end.last_idx}, and have the shard refilled from the registry (IndexQueueService.Refill).",
        metadata=_metadata_of(client, key, end),
    )


def _metadata_of(client: str, key: ShardKey, end: ShardEnds) -> dict[str, str]:
    return {
        "client": client,
        "queue": str(key.queue),
        "shard": str(key.shard),
        "last_idx": str(end.last_idx),
        "trimmed_idx": str(end.trimmed_idx),
    }
