"""Cutting the offers of a run into batches, and the digests by which the owner knows that it has them all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord

MAX_RECORDS = 100
MAX_SOURCE_BYTES = 256 << 10
# An issue takes about as much of a message as this much of the source.
_ISSUE_BYTES = 1 << 10
_DIGEST_BYTES = 16


def content_hash(record: OfferRecord) -> bytes:
    """Returns 16 bytes that stay the same as long as the offer says the same."""
    data = record.content.SerializeToString(deterministic=True)
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


def records_digest(batch: OfferBatch) -> bytes:
    """Returns 16 bytes of BLAKE2b over the records of a batch that says nothing of itself yet.

    The seller, task, run and number are left out of it, so a rerun of the same file has the same digests.
    """
    data = batch.SerializeToString(deterministic=True)
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


class RunDigest:
    """The digest over the digests of a run's batches, in their order."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)

    def add(self, batch_digest: bytes) -> None:
        """Takes the next batch's digest."""
        self._digest.update(batch_digest)

    def value(self) -> bytes:
        """Returns the digest so far."""
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
        """Counts an offer in."""
        self.records += 1
        self.source_bytes += source_bytes + _ISSUE_BYTES * len(record.errors)
