"""Cutting the offers of a run into batches, and the digests by which the owner knows that it has them all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from classifeed.feeds.v1 import load_pb2
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord

MAX_RECORDS = 100
MAX_SOURCE_BYTES = 256 << 10
# An issue takes about as much of a message as this much of the source.
_ISSUE_BYTES = 1 << 10
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class RunAddress:
    """What every batch of a run says of itself."""

    seller_id: str
    namespace: str
    task_id: int
    run: int
    mode: load_pb2.LoadMode


def content_hash(record: OfferRecord) -> bytes:
    """Return 16 bytes that stay the same as long as the offer says the same."""
    data = record.content.SerializeToString(deterministic=True)
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


@dataclass(frozen=True, slots=True)
class FinalizedBatch:
    """A batch ready to send.

    Attributes:
        batch_id: its number in the run.
        records: how many offers it holds.
        digest: 16 bytes of BLAKE2b over its records; the seller, task, run and number are left out of it, so a rerun of
            the same file has the same digests.
        value: the whole OfferBatch, serialised.
    """

    batch_id: int
    records: int
    digest: bytes
    value: bytes


def finalize(records: OfferBatch, address: RunAddress, batch_id: int) -> FinalizedBatch:
    """Return the batch of these records.

    Args:
        records: A batch with its records and nothing else.
        address: What it says of its run.
        batch_id: Its number.
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
    # Two serialised messages one after the other are the merged message: the records are written once.
    return FinalizedBatch(batch_id, len(records.records), digest, head.SerializeToString() + body)


class RunDigest:
    """The digest over the digests of a run's batches, in their order."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def add(self, batch_digest: bytes) -> None:
        """Take the next batch's digest."""
        self._digest.update(batch_digest)

    def value(self) -> bytes:
        """Return the digest so far."""
        return self._digest.copy().digest()


@dataclass(slots=True)
class BatchFill:
    """How full the batch at hand is. Only what lies in the file decides, so a rerun cuts alike."""

    records: int = 0
    source_bytes: int = 0

    def has_room(self, source_bytes: int) -> bool:
        """Says whether an offer of this size goes into the same batch. An empty batch takes any."""
        return self.records == 0 or (
            self.records < MAX_RECORDS and self.source_bytes + source_bytes <= MAX_SOURCE_BYTES
        )

    def add(self, record: OfferRecord, source_bytes: int) -> None:
        """Count an offer in."""
        self.records += 1
        self.source_bytes += source_bytes + _ISSUE_BYTES * len(record.errors)
