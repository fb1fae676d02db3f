"""Decode a Kafka record into a checked request; a record that no retry fixes is poison."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import DecodeError

from classifeed.feeds.v1.load_pb2 import (
    DISPOSITION_DELETE,
    DISPOSITION_DELETE_ALL,
    DISPOSITION_MAKE_MANUAL,
    ISSUE_LEVEL_ERROR,
    LOAD_MODE_PATCH,
    LOAD_MODE_REPLACE,
)
from classifeed.feeds.v1.offer_requests_pb2 import (
    RECORD_KIND_DUPLICATE,
    RECORD_KIND_OFFER,
    RECORD_KIND_UNIDENTIFIED,
    HoldDecision,
    OfferBatch,
    OfferRecord,
    RunCheck,
    TaskEnd,
)
from classifeed_common.kafka import Poison, Record, type_of
from classifeed_offers.domain.admission import Request
from classifeed_offers.domain.offers import HASH_BYTES
from classifeed_offers.domain.patch import FIELDS

# A longer id does not fit into the resource name of an offer, and a much longer one not into an index.
_ID_LIMIT_CHARS: Final = 256
_ADDRESS_LIMIT_CHARS: Final = 64
# The result carries all errors of its batch and up to one warning of ours per record, and must fit into a message.
_BATCH_LIMIT_BYTES: Final = 950_000
_BATCH_LIMIT_RECORDS: Final = 100
_TYPES: Final[dict[str, type[Request]]] = {cls.DESCRIPTOR.full_name: cls for cls in (OfferBatch, TaskEnd, RunCheck)}
_MODES: Final = (LOAD_MODE_REPLACE, LOAD_MODE_PATCH)
_DISPOSITIONS: Final = (DISPOSITION_DELETE, DISPOSITION_MAKE_MANUAL, DISPOSITION_DELETE_ALL)
_DECISIONS: Final = frozenset(HoldDecision.values())
_KINDS: Final = (RECORD_KIND_OFFER, RECORD_KIND_DUPLICATE, RECORD_KIND_UNIDENTIFIED)


def decode_request(record: Record) -> Request:
    """Return the request that a record carries, checked.

    Raises:
        Poison: the record is no request, or breaks the protocol; the reason names the place.
    """
    request = parse_request(record)
    if request is None:
        raise Poison(record, f"is not a request, but {type_of(record) or 'of no type'}")
    fault = fault_of_address(record, request)
    if fault is None and not isinstance(request, RunCheck):
        fault = _fault_of_load(request)
        if fault is None and isinstance(request, OfferBatch):
            fault = _fault_of_batch(request, len(record.value))
        elif fault is None and isinstance(request, TaskEnd):
            fault = _fault_of_end(request)
    if fault is not None:
        raise Poison(record, fault)
    return request


def parse_request(record: Record) -> Request | None:
    """Return the request that a record carries, unchecked; None if it cannot be read as one."""
    cls = _TYPES.get(type_of(record))
    if cls is None:
        return None
    try:
        return cls.FromString(record.value)
    except DecodeError:
        return None


def fault_of_address(record: Record, request: Request) -> str | None:
    """Return what is wrong with the sender of a request; None: a reply reaches the sender."""
    for name in ("seller_id", "namespace"):
        value = getattr(request, name)
        if not 0 < len(value) <= _ADDRESS_LIMIT_CHARS or "\0" in value:
            return f"{name} {value[:_ADDRESS_LIMIT_CHARS]!r} is not a name of 1 to {_ADDRESS_LIMIT_CHARS} characters"
    if record.key != request.seller_id.encode():
        return f"key {record.key!r} is not the seller {request.seller_id!r}: the order is not guaranteed"
    if request.task_id < 1 or request.run < 1:
        return f"task_id {request.task_id} and run {request.run} must be above 0"
    return None


def _fault_of_load(request: OfferBatch | TaskEnd) -> str | None:
    if request.mode not in _MODES:
        return f"mode {request.mode} is unknown"
    if len(request.digest) != HASH_BYTES:
        return f"digest has {len(request.digest)} bytes, not {HASH_BYTES}"
    return None


def _fault_of_end(end: TaskEnd) -> str | None:
    if end.disposition not in _DISPOSITIONS:
        return f"disposition {end.disposition} is unknown"
    if end.decision not in _DECISIONS:
        return f"decision {end.decision} is unknown"
    return None if end.batch_count >= 0 else f"batch_count {end.batch_count} is negative"


def _fault_of_batch(batch: OfferBatch, size_bytes: int) -> str | None:
    if batch.batch_id < 1:
        return f"batch_id {batch.batch_id} must be above 0"
    if size_bytes > _BATCH_LIMIT_BYTES or len(batch.records) > _BATCH_LIMIT_RECORDS:
        return (
            f"batch {batch.batch_id} has {len(batch.records)} records and {size_bytes} bytes, the limits are "
            f"{_BATCH_LIMIT_RECORDS} and {_BATCH_LIMIT_BYTES}"
        )
    ids: set[str] = set()
    patch = batch.mode == LOAD_MODE_PATCH
    for position, record in enumerate(batch.records, start=1):
        external_id = record.external_id
        fault = "is in the batch twice" if external_id in ids else _fault_of_record(record, patch=patch)
        if fault is not None:
            return f"record {position} ({external_id[:_ID_LIMIT_CHARS]!r}) of batch {batch.batch_id}: {fault}"
        ids.add(external_id)
    return None


def _fault_of_record(record: OfferRecord, *, patch: bool) -> str | None:
    if record.kind not in _KINDS:
        return f"kind {record.kind} is unknown"
    if not 0 < len(record.external_id) <= _ID_LIMIT_CHARS or "\0" in record.external_id:
        return f"external_id must have 1 to {_ID_LIMIT_CHARS} characters, none of them NUL"
    if record.kind != RECORD_KIND_OFFER or record.keep_existing:
        return None
    if record.errors and any(error.level == ISSUE_LEVEL_ERROR for error in record.errors):
        return None
    if not record.HasField("content"):
        return "has neither content nor an error that would explain it"
    if patch:
        unknown = [name for name in record.named_fields if name not in FIELDS]
        return f"names fields that an offer does not have: {', '.join(unknown)}" if unknown else None
    if len(record.content_hash) != HASH_BYTES:
        return f"content_hash has {len(record.content_hash)} bytes, not {HASH_BYTES}"
    return None
