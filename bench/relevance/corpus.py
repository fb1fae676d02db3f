"""The shared feeds as documents of the search, read and composed by the suite's code without its services."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed.feeds.v1 import load_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_feeds.batches import RunAddress
from classifeed_feeds.first_pass import scan_feed
from classifeed_feeds.second_pass import read_batches
from classifeed_feeds.source.limits import Limits
from classifeed_feeds.source.source import open_source
from classifeed_offers.domain.documents import DueOffer, compose
from classifeed_offers.domain.offers import Status

FEEDS = Path(os.environ.get("CLASSIFEED_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data") / "feeds"
_EPOCH_BEGINS = datetime(2026, 1, 1, tzinfo=UTC)


def read_documents(files: Iterable[str]) -> Iterator[RawDocument]:
    """Yield the documents of all published offers; the name of the file is the seller."""
    for name in sorted(files):
        for record in _read_table(FEEDS / name) if name.endswith(".tsv") else _read_records(FEEDS / name):
            if record.HasField("content"):
                document = compose(_due(name, record))
                assert document.action == DOCUMENT_ACTION_UPSERT
                yield document


def _read_records(path: Path) -> Iterator[OfferRecord]:
    address = RunAddress(path.name, "default", 1, 1, load_pb2.LOAD_MODE_REPLACE)
    with tempfile.TemporaryDirectory() as spool:
        scan = scan_feed(open_source(path, Limits()), Path(spool))
        for batch in read_batches(scan, address):
            yield from OfferBatch.FromString(batch.value).records


def _read_table(path: Path) -> Iterator[OfferRecord]:
    """Yield the offers of a table: the format of the English feeds, which the suite does not read."""
    with path.open(encoding="utf-8", newline="") as file:
        for ordinal, row in enumerate(csv.DictReader(file, delimiter="\t"), start=1):
            content = OfferContent(
                title=row["title"],
                description=row["description"],
                vendor=row["brand"],
                category_path=[row["google_product_category"]],
            )
            yield OfferRecord(external_id=row["id"], ordinal=ordinal, content=content)


def _due(seller: str, record: OfferRecord) -> DueOffer:
    return DueOffer(
        offer_id=record.ordinal,
        version=1,
        seller_id=seller,
        namespace="default",
        external_id=record.external_id,
        status=Status.ACTIVE,
        content=record.content.SerializeToString(),
        published_content=None,
        updated_at=_EPOCH_BEGINS,
        composed_at=_EPOCH_BEGINS,
    )
