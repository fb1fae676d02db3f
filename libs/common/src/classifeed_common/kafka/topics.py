"""The table of topics: every topic of the suite with its partitions, retention and compaction, declared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FEEDS_OFFER_REQUESTS: Final = "feeds.offer-requests.v1"
FEEDS_OFFER_RESULTS: Final = "feeds.offer-results.v1"
OFFERS_CHANGED: Final = "offers.changed.v1"
_INDEX_DOCUMENTS: Final = "index.documents.v1."
_DLQ_SUFFIX: Final = ".dlq"

_DAY_MS: Final = 24 * 60 * 60 * 1000
INDEX_SHARDS: Final = 64


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic as declared: partitions, retention in milliseconds, compacted or not."""

    name: str
    partitions: int
    retention_ms: int
    compacted: bool = False


_DECLARED: Final = {
    topic.name: topic
    for topic in (
        Topic(FEEDS_OFFER_REQUESTS, partitions=8, retention_ms=7 * _DAY_MS),  # key seller_id: OfferBatch, TaskEnd
        Topic(FEEDS_OFFER_RESULTS, partitions=8, retention_ms=7 * _DAY_MS),  # key seller_id: results and late results
        Topic(OFFERS_CHANGED, partitions=8, retention_ms=7 * _DAY_MS),  # key seller/namespace/external_id
    )
}


def index_documents(client: str) -> str:
    """Return the topic of a client's documents for the index; its partition is the document's shard."""
    return _INDEX_DOCUMENTS + client


def dlq(topic: str) -> str:
    """Return the topic that takes the dead letters of `topic`."""
    return topic + _DLQ_SUFFIX


def declared(name: str) -> Topic:
    """Return the declaration of a topic, of a client's index topic, or of a dead letter topic.

    Raises:
        KeyError: nobody declared this topic; add it to the table here.
    """
    if name in _DECLARED:
        return _DECLARED[name]
    if name.endswith(_DLQ_SUFFIX):
        # One partition: dead letters are few, and an operator reads them in one order.
        return Topic(name, partitions=1, retention_ms=30 * _DAY_MS)
    if name.startswith(_INDEX_DOCUMENTS) and len(name) > len(_INDEX_DOCUMENTS):
        return Topic(name, partitions=INDEX_SHARDS, retention_ms=7 * _DAY_MS)
    raise KeyError(f"topic {name!r} is declared nowhere; add it to classifeed_common.kafka.topics")
