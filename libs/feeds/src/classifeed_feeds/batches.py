"""Batches of a run's offers, and the digests by which the service offers checks that it has all of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from classifeed.feeds.v1 import load_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord

MAX_RECORDS = 100
MAX_SOURCE_BYTES = 256 << 10
# In a message, an issue takes about as much space as this many bytes of the source.
_ISSUE_BYTES = 1 << 10
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class RunAddress:
    """Fields that all batches of a run have in common."""

    seller_id: str
    namespace: str
    task_id: int
    run: int
    mode: load_pb2.LoadMode


def content_hash(record: OfferRecord) -> bytes:
    """Return a hash of an offer's content, 16 bytes."""
    data = record.content.SerializeToString(deterministic=True)
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


@dataclass(frozen=True, slots=True)
class FinalizedBatch:
    """A batch ready to send.

    Attributes:
        batch_id: number of the batch in the run.
        records: number of offers in the batch.
        digest: 16 bytes of BLAKE2b over the records, without seller, task, run and number, so that a rerun of the same
            file has the same digests.
        value: the serialized OfferBatch.
    """

    batch_id: int
    records: int
    digest: bytes
    value: bytes


def finalize(records: OfferBatch, address: RunAddress, batch_id: int) -> FinalizedBatch:
    """Return the finalized batch of some records.

    Args:
        records: A batch that has only its records.
        address: Common fields of the run's batches.
        batch_id: Number of the batch.
    """
    body = records.SerializeToString(deterministic=True)
    digest = hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
    head = OfferBatch(
        seller_id=address.seller_id,
        namespace=address.namespace,
        task_id=address.task_id,
        run=address.run,
        batch_id=batch_id,
        mode=address.mode,
        digest=digest,
    )
    # Two concatenated serialized messages are the merged message, so the records are serialized once.
    return FinalizedBatch(batch_id, len(records.records), digest, head.SerializeToString() + body)


class RunDigest:
    """Digest over the digests of a run's batches, in their order."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def add(self, batch_digest: bytes) -> None:
        """Add the digest of the next batch."""
        self._digest.update(batch_digest)

    def value(self) -> bytes:
        """Return the digest so far."""
        return self._digest.copy().digest()


@dataclass(slots=True)
class BatchFill:
    """Fill level of the current batch. It depends only on the file, so a rerun yields the same batches."""

    records: int = 0
    source_bytes: int = 0

    def has_room(self, source_bytes: int) -> bool:
        """Return whether an offer of this size fits into the batch. An empty batch takes any offer."""
        return self.records == 0 or (
            self.records < MAX_RECORDS and self.source_bytes + source_bytes <= MAX_SOURCE_BYTES
        )

    def add(self, record: OfferRecord, source_bytes: int) -> None:
        """Count an offer of the batch."""
        self.records += 1
        self.source_bytes += source_bytes + _ISSUE_BYTES * len(record.errors)
