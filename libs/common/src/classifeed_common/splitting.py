"""Splitting of protobuf messages into lists that fit into one message or request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message

MESSAGE_ITEMS: Final = 100
MESSAGE_BYTES: Final = 500_000
"""Half of the largest Kafka message, in bytes."""

MessageT = TypeVar("MessageT", bound=Message)


def split_by_size(
    items: Sequence[MessageT], *, most_items: int = MESSAGE_ITEMS, most_bytes: int = MESSAGE_BYTES
) -> Iterator[list[MessageT]]:
    """Yield `items` in order, in lists within both limits; an item over `most_bytes` is alone in its list.

    The default limits are those of a Kafka message.
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
