"""Declarations of all Kafka topics of the suite, with their partitions and retention."""

from __future__ import annotations

from typing import Final

from classifeed_common.kafka import Topic

FEEDS_OFFER_REQUESTS: Final = "feeds.offer-requests.v1"
FEEDS_OFFER_RESULTS: Final = "feeds.offer-results.v1"
OFFERS_CHANGED: Final = "offers.changed.v1"
MODERATION_REQUESTS: Final = "moderation.requests.v1"
MODERATION_OUTCOMES: Final = "moderation.outcomes.v1"
MODERATION_EVENTS: Final = "moderation.events.v1"
PICTURES_REQUESTS: Final = "pictures.requests.v1"
PICTURES_EVENTS: Final = "pictures.events.v1"
PICTURES_DOWNLOADS: Final = "pictures.downloads.v1"
PICTURES_COPIES: Final = "pictures.copies.v1"
PICTURES_LOADS: Final = "pictures.loads.v1"
PICTURES_RESULTS: Final = "pictures.results.v1"
_INDEX_DOCUMENTS: Final = "index.documents.v1."

_DAY_MS: Final = 24 * 60 * 60 * 1000
INDEX_SHARDS: Final = 64

_DECLARED: Final = {
    topic.name: topic
    for topic in (
        Topic(FEEDS_OFFER_REQUESTS, partitions=8, retention_ms=7 * _DAY_MS),  # key seller_id: OfferBatch, TaskEnd
        Topic(FEEDS_OFFER_RESULTS, partitions=8, retention_ms=7 * _DAY_MS),  # key seller_id: results and late results
        Topic(OFFERS_CHANGED, partitions=8, retention_ms=7 * _DAY_MS),  # key seller/namespace/external_id
        Topic(MODERATION_REQUESTS, partitions=8, retention_ms=7 * _DAY_MS),  # key seller_id: TextsToJudge
        Topic(MODERATION_OUTCOMES, partitions=8, retention_ms=7 * _DAY_MS),  # key seller_id: TextsJudged
        Topic(MODERATION_EVENTS, partitions=8, retention_ms=7 * _DAY_MS),  # key of the text: ModerationEvent
        Topic(PICTURES_REQUESTS, partitions=16, retention_ms=7 * _DAY_MS),  # key recipient: requests; notices
        Topic(PICTURES_EVENTS, partitions=64, retention_ms=7 * _DAY_MS),  # key hash of the URL: PictureEvent
        Topic(PICTURES_DOWNLOADS, partitions=16, retention_ms=7 * _DAY_MS),  # key hash of the URL: DownloadOrder
        Topic(PICTURES_COPIES, partitions=16, retention_ms=7 * _DAY_MS),  # key hash of the URL: CopyOrder, DeleteOrder
        Topic(PICTURES_LOADS, partitions=16, retention_ms=7 * _DAY_MS),  # key hash of the URL: LoadResult
        Topic(PICTURES_RESULTS, partitions=16, retention_ms=7 * _DAY_MS),  # key recipient: PictureResults
    )
}


def index_documents(client: str) -> str:
    """Return the topic of a client's documents for the index; its partition is the document's shard."""
    return _INDEX_DOCUMENTS + client


def declared(name: str) -> Topic:
    """Return the declaration of a topic, or of a client's index topic.

    Raises:
        KeyError: The topic is not declared; add it to the table in this module.
    """
    if name in _DECLARED:
        return _DECLARED[name]
    if name.startswith(_INDEX_DOCUMENTS) and len(name) > len(_INDEX_DOCUMENTS):
        return Topic(name, partitions=INDEX_SHARDS, retention_ms=7 * _DAY_MS)
    raise KeyError(f"topic {name!r} is declared nowhere; add it to classifeed_domain.topics")
