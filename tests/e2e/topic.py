"""Messages on feeds.offer-requests.v1, read as any consumer could."""

from __future__ import annotations

import uuid
from collections import defaultdict
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition

from classifeed.feeds.v1 import offer_requests_pb2

TOPIC = "feeds.offer-requests.v1"
BATCH = offer_requests_pb2.OfferBatch.DESCRIPTOR.full_name


class Sent(NamedTuple):
    """A message about a seller; the end of a run has no batch_id."""

    task_id: int
    run: int
    batch_id: int | None


def requests_of(bootstrap: str, seller: str) -> list[Sent]:
    """Return all messages about a seller, in order."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"look-{uuid.uuid4()}", "enable.partition.eof": True}
    )
    found: list[Sent] = []
    try:
        partitions = consumer.list_topics(TOPIC, timeout=60).topics[TOPIC].partitions
        consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in partitions])
        open_partitions = set(partitions)
        while open_partitions:
            for message in consumer.consume(500, 5):
                if message.error():
                    open_partitions.discard(message.partition())
                elif message.key() == seller.encode():
                    kind = dict(message.headers() or {})["type"]
                    assert isinstance(kind, bytes)
                    found.append(_parse(kind.decode(), message.value() or b""))
    finally:
        consumer.close()
    return found


def _parse(kind: str, value: bytes) -> Sent:
    if kind == BATCH:
        batch = offer_requests_pb2.OfferBatch.FromString(value)
        return Sent(batch.task_id, batch.run, batch.batch_id)
    end = offer_requests_pb2.TaskEnd.FromString(value)
    return Sent(end.task_id, end.run, None)


def check_runs(sent: list[Sent]) -> dict[tuple[int, int], int]:
    """Check that each run has its batches without gaps and ends last; return the number of batches of each run."""
    runs: defaultdict[tuple[int, int], list[int | None]] = defaultdict(list)
    for message in sent:
        runs[message.task_id, message.run].append(message.batch_id)
    counts: dict[tuple[int, int], int] = {}
    for run, numbers in runs.items():
        batches = [number for number in numbers if number is not None]
        # After a crash the end may be sent twice, but no batch follows it.
        after_end = numbers[numbers.index(None) :] if None in numbers else []
        assert set(after_end) <= {None}, f"run {run}: a batch came after the end"
        assert sorted(set(batches)) == list(range(1, max(batches, default=0) + 1)), f"run {run}: a batch is missing"
        counts[run] = len(set(batches))
    return counts
