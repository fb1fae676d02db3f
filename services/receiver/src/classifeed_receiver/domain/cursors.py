"""Checks that the cursor of a reader belongs to its queue, and the error of one that does not.

A queue never assigns an index twice, even after a restore from a backup (ADR 0030). So a cursor that is newer than the
backup matches no element, and can be distinguished from a trimmed one.
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
    """Indices of the last element of a shard's queue and of its last trimmed one; 0: none."""

    last_idx: int
    trimmed_idx: int


NO_ELEMENTS: Final = ShardEnds(last_idx=0, trimmed_idx=0)


def list_due(client: str, cursors: Mapping[ShardKey, int], ends: Mapping[ShardKey, ShardEnds]) -> dict[ShardKey, int]:
    """Return the cursors with elements after them.

    Raises:
        FailedPrecondition: a cursor is in the trimmed part of its queue, or beyond its end.
    """
    due = {}
    for key, idx in cursors.items():
        end = ends.get(key, NO_ELEMENTS)
        check_cursor(client, key, idx, end, is_known=idx <= end.last_idx)
        if idx < end.last_idx:
            due[key] = idx
    return due


def check_cursor(client: str, key: ShardKey, idx: int, end: ShardEnds, *, is_known: bool) -> None:
    """Check that no element after a cursor is missing.

    Args:
        client: client of the queue.
        key: queue and shard.
        idx: index of the cursor.
        end: ends of the queue.
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
    """Return the error of a cursor that is no element of its queue."""
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
