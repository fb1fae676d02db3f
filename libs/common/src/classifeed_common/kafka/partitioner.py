"""The partition of a key, as `KafkaProducer` and Kafka's Java clients choose it (murmur2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from classifeed_common.kafka.dead_letters import Poison
from classifeed_common.kafka.records import Record

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_BITS: Final = 0xFFFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key in a topic with `partitions` partitions."""
    return (_murmur2(key) & 0x7FFFFFFF) % partitions


def misplaced(records: Iterable[Record], partitions: Mapping[str, int]) -> list[Poison]:
    """Return the records whose key belongs to another partition, by the present number of their topic's partitions.

    Their sender uses another number of partitions, or does not choose by the key.
    """
    found = []
    for record in records:
        if record.key is None:
            continue
        count = partitions[record.topic]
        right = partition_of(record.key, count)
        if right != record.partition:
            reason = (
                f"its key belongs to partition {right} of {count}, but it came in {record.partition}: its sender still "
                "counts the partitions that the topic had before it was grown, so its place in the order is not known; "
                "start that sender again"
            )
            found.append(Poison(record, reason))
    return found


def _murmur2(key: bytes) -> int:
    whole = len(key) & ~3
    digest = _SEED ^ len(key)
    for at in range(0, whole, 4):
        part = int.from_bytes(key[at : at + 4], "little") * _MULTIPLIER & _BITS
        part = (part ^ part >> 24) * _MULTIPLIER & _BITS
        digest = digest * _MULTIPLIER & _BITS ^ part
    if whole < len(key):
        digest = (digest ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _BITS
    digest = (digest ^ digest >> 13) * _MULTIPLIER & _BITS
    return digest ^ digest >> 15
