"""Splitting protobuf messages into lists that fit where they are sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message

MESSAGE_ITEMS: Final = 100
MESSAGE_BYTES: Final = 500_000
"""Half of what Kafka takes in a message."""

MessageT = TypeVar("MessageT", bound=Message)


def split_by_size(
    items: Sequence[MessageT], *, most_items: int = MESSAGE_ITEMS, most_bytes: int = MESSAGE_BYTES
) -> Iterator[list[MessageT]]:
    """Yield `items`, in their order, in lists of at most so many and so many bytes; a larger one goes alone.

    Unless given, the bounds are those of a message of Kafka.
    """
    part: list[MessageT] = []
    size_bytes = 0
    for item in items:
        item_bytes = item.ByteSize()
        if part and (len(part) == most_items or size_bytes + item_bytes > most_bytes):
            yield part
            part, size_bytes = [], 0
        part.append(item)
        size_bytes += item_bytes
    if part:
        yield part
