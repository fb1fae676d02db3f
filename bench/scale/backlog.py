"""The backlog of the roles: batches of requests, documents, and documents of the index, made of one generated feed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.generated_feed import write_feed
from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.index_queue_service_pb2 import INDEX_QUEUE_MAIN
from classifeed.feeds.v1.load_pb2 import LOAD_MODE_REPLACE
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch
from classifeed_common.kafka import Message, message_of
from classifeed_domain.document_shards import hash_of, shard_of
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS
from classifeed_offers.domain.documents import DueOffer, compose
from classifeed_processor.feed.batches import RunAddress, finalize
from classifeed_processor.feed.first_pass import scan_feed
from classifeed_processor.feed.second_pass import read_batches
from classifeed_processor.feed.source.limits import DEFAULT_LIMITS
from classifeed_processor.feed.source.source import open_source

NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Size of the backlog: sellers, and offers of each."""

    sellers: int
    offers_each: int

    @property
    def offers(self) -> int:
        """Number of offers of all sellers."""
        return self.sellers * self.offers_each

    @property
    def names(self) -> list[str]:
        """Names of the sellers."""
        return [f"seller{number:05d}" for number in range(self.sellers)]


class Backlog:
    """One feed in the form that each role receives; it is read once, and sellers differ in their names only.

    Args:
        folder: the folder for the files.
        sizes: the size of the backlog.
    """

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self._folder = folder
        self.sizes = sizes
        self._read: dict[int, list[OfferBatch]] = {}

    def file(self, revision: int) -> Path:
        """Return the feed of a seller; another revision changes every offer."""
        path = self._folder / f"{self.sizes.offers_each}-{revision}.yml"
        return path if path.exists() else write_feed(path, self.sizes.offers_each, revision=revision)

    def requests(self, revision: int) -> list[Message]:
        """Return the batches of a load of each seller, whose task has the revision's number."""
        return [
            message_of(FEEDS_OFFER_REQUESTS, seller.encode(), OfferBatch.FromString(value))
            for seller in self.sizes.names
            for value in self._values(seller, revision)
        ]

    def documents(self, version: int) -> list[RawDocument]:
        """Return the document of each offer."""
        at = datetime.now(UTC)
        return [
            compose(DueOffer(1, version, seller, NAMESPACE, record.external_id, "ACTIVE",
                             record.content.SerializeToString(), None, at, at))
            for seller in self.sizes.names
            for batch in self._batches(version)
            for record in batch.records
        ]  # fmt: skip

    def index_messages(self, topic: str, documents: Sequence[RawDocument]) -> Iterator[Message]:
        """Yield documents as the indexer sends them to a topic."""
        ends: dict[int, int] = {}
        for document in documents:
            shard = shard_of(hash_of(document.pk))
            ends[shard] = ends.get(shard, 0) + 1
            value = IndexDocument(
                epoch=document.epoch, pk=document.pk, version=document.version, timestamp=document.timestamp,
                action=document.action, body=document.body, fence=1, queue=INDEX_QUEUE_MAIN, shard=shard,
                idx=ends[shard],
            )  # fmt: skip
            yield message_of(topic, document.pk.encode(), value, partition=shard)

    def _values(self, seller: str, revision: int) -> Iterator[bytes]:
        address = RunAddress(seller, NAMESPACE, revision, 1, LOAD_MODE_REPLACE)
        for number, batch in enumerate(self._batches(revision), start=1):
            yield finalize(batch, address, number).value

    def _batches(self, revision: int) -> list[OfferBatch]:
        """Return the batches of records of a feed, without the address of a run."""
        if revision not in self._read:
            scan = scan_feed(open_source(self.file(revision), DEFAULT_LIMITS), self._folder)
            address = RunAddress("any", NAMESPACE, 1, 1, LOAD_MODE_REPLACE)
            whole = [OfferBatch.FromString(batch.value) for batch in read_batches(scan, address)]
            self._read[revision] = [OfferBatch(records=batch.records) for batch in whole]
        return self._read[revision]
