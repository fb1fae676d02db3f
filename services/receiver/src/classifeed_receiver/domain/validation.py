"""Checks of one document: the rules of the proto and the schema of its epoch.

The rules of the proto are checked by hand, because every document is checked and this is five times as fast as
protovalidate. A test compares both on a corpus.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from classifeed.documents.v1.document_pb2 import (
    DOCUMENT_ACTION_DELETE,
    DOCUMENT_ACTION_UPSERT,
    RawDocument,
    Value,
)
from classifeed.documents.v1.schema_pb2 import FieldSchema, FieldType
from classifeed_common.errors import FieldViolation
from classifeed_domain.document_shards import hash_of
from classifeed_receiver.domain.documents import EpochTooOld, Freshness, Invalid, NewDocument, Status
from classifeed_receiver.domain.schemas import Epoch, Epochs, EpochState

_PK_LIMIT_BYTES: Final = 1200
_VALUES_LIMIT: Final = 1024
_UNIX_0: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LEAST_S: Final = -62135596800  # 0001-01-01
_GREATEST_S: Final = 253402300799  # 9999-12-31T23:59:59


def check_document(document: RawDocument, epochs: Epochs, *, limit_bytes: int) -> NewDocument | Invalid | EpochTooOld:
    """Return the document ready for the registry, or the reason of its rejection. Its body is normalized in place.

    Args:
        document: unchecked document.
        epochs: all epochs of its client.
        limit_bytes: maximum size of a document, in bytes; the index's topic takes at most 1 MB.
    """
    violations = list(_check_head(document))
    if violations:
        return Invalid(tuple(violations))
    epoch = epochs.by_number.get(document.epoch)
    if document.epoch < epochs.active or (epoch is not None and epoch.state == EpochState.RETIRED):
        return EpochTooOld(epochs.active)
    if epoch is None or epoch.state != EpochState.ACTIVE:
        return Invalid((_inactive_epoch(document.epoch, epochs),))
    if document.action == DOCUMENT_ACTION_UPSERT:
        if document.body:
            violations = [*_check_body(document, epoch), *_check_embeddings(document, epoch)]
        elif not _fits_at_sight(document, epoch):
            violations = [*_check_fields(document, epoch), *_check_embeddings(document, epoch)]
    else:
        violations = list(_check_delete(document))
    content = document.SerializeToString(deterministic=True)
    if len(content) > limit_bytes:
        text = f"has {len(content)} bytes, at most {limit_bytes} are allowed; shorten its texts"
        violations.append(FieldViolation("document", text))
    if violations:
        return Invalid(tuple(violations))
    timestamp = _moment(document)
    return NewDocument(
        pk=document.pk,
        pk_hash=hash_of(document.pk),
        freshness=Freshness(document.epoch, document.version, timestamp),
        status=Status.LIVE if document.action == DOCUMENT_ACTION_UPSERT else Status.TOMBSTONE,
        expires_at=_expiry(document, timestamp),
        content=content,
    )


def _check_head(document: RawDocument) -> Iterator[FieldViolation]:
    pk = document.pk
    if not pk or (len(pk) > _PK_LIMIT_BYTES // 4 and len(pk.encode()) > _PK_LIMIT_BYTES) or "\0" in pk:
        yield FieldViolation("pk", f"must have 1 to {_PK_LIMIT_BYTES} bytes, none of them 0")
    if document.version <= 0:
        yield FieldViolation("version", "must be greater than 0")
    if document.epoch <= 0:
        yield FieldViolation("epoch", "must be greater than 0")
    if document.action not in (DOCUMENT_ACTION_UPSERT, DOCUMENT_ACTION_DELETE):
        yield FieldViolation("action", "must be UPSERT or DELETE")
    if not document.HasField("timestamp"):
        yield FieldViolation("timestamp", "must be set")
    elif not _is_moment(document.timestamp.seconds, document.timestamp.nanos):
        yield FieldViolation("timestamp", "must lie in the years 1 to 9999")
    elif document.timestamp.nanos % 1000:
        # The registry compares microseconds; with nanoseconds, two different timestamps could compare as equal.
        yield FieldViolation("timestamp", "must be whole microseconds; cut the nanoseconds off")
    elif document.HasField("ttl") and not _is_ttl(document):
        yield FieldViolation("ttl", "must be positive and end before the year 10000")


def _is_moment(seconds: int, nanos: int) -> bool:
    return _LEAST_S <= seconds <= _GREATEST_S and 0 <= nanos < 1_000_000_000


def _is_ttl(document: RawDocument) -> bool:
    ttl = document.ttl
    positive = (ttl.seconds > 0 and ttl.nanos >= 0) or (ttl.seconds == 0 and ttl.nanos > 0)
    return positive and ttl.nanos < 1_000_000_000 and document.timestamp.seconds + ttl.seconds < _GREATEST_S


def _moment(document: RawDocument) -> datetime:
    stamp = document.timestamp
    return _UNIX_0 + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1000)


def _expiry(document: RawDocument, timestamp: datetime) -> datetime | None:
    if document.action != DOCUMENT_ACTION_UPSERT or not document.HasField("ttl"):
        return None
    return timestamp + timedelta(seconds=document.ttl.seconds, microseconds=document.ttl.nanos // 1000)


def _inactive_epoch(number: int, epochs: Epochs) -> FieldViolation:
    return FieldViolation("epoch", f"{number} is not the active epoch; compose the document for {epochs.active}")


def _check_delete(document: RawDocument) -> Iterator[FieldViolation]:
    if document.fields:
        yield FieldViolation("fields", "must be empty for DELETE")
    if document.body:
        yield FieldViolation("body", "must be empty for DELETE")
    if document.embeddings:
        yield FieldViolation("embeddings", "must be empty for DELETE")
    if document.HasField("ttl"):
        yield FieldViolation("ttl", "must be unset for DELETE")


def _fits_at_sight(document: RawDocument, epoch: Epoch) -> bool:
    """Return whether a quick check suffices, as for nearly all documents.

    It does if every field has one value of the right kind, and there is nothing else to check.
    """
    kinds = epoch.unbounded_kinds
    names = set()
    for field in document.fields:
        name, values = field.name, field.values
        if len(values) != 1 or name in names or values[0].WhichOneof("kind") != kinds.get(name, ""):
            return False
        names.add(name)
    return bool(names) and epoch.required <= names and not document.embeddings


def _check_body(document: RawDocument, epoch: Epoch) -> Iterator[FieldViolation]:
    if document.fields:
        yield FieldViolation("fields", "must be empty where body has the fields; leave one of the two out")
        return
    normalized = epoch.codec.normalize(document.body)
    if normalized is not None:
        document.body = normalized
        return
    for fault in epoch.codec.faults(document.body):
        yield FieldViolation(fault.path, fault.text)


def _check_fields(document: RawDocument, epoch: Epoch) -> Iterator[FieldViolation]:
    if not document.fields:
        yield FieldViolation("fields", "must have at least one field for UPSERT")
        return
    kinds = epoch.kinds
    names: set[str] = set()
    for index, field in enumerate(document.fields):
        name, values = field.name, field.values
        kind = kinds.get(name)
        if kind is None:
            yield FieldViolation(f"fields[{index}].name", f"{name!r} is not a field of epoch {document.epoch}")
            continue
        if name in names:
            yield FieldViolation(f"fields[{index}].name", f"{name} is used twice; give one field with all its values")
        names.add(name)
        yield from _check_values(values, kind, f"fields[{index}].values", epoch.fields[name])
    if missing := epoch.required - names:
        yield FieldViolation("fields", f"{', '.join(sorted(missing))}: required in epoch {document.epoch} and missing")


def _check_values(values: Sequence[Value], kind: str, path: str, schema: FieldSchema) -> Iterator[FieldViolation]:
    if len(values) != 1 and not (schema.repeated and 1 < len(values) <= _VALUES_LIMIT):
        yield FieldViolation(path, f"{schema.name} has {len(values)} values, {_allowed_count(schema)}")
    for number, value in enumerate(values):
        if fault := _value_fault(value, kind, schema):
            yield FieldViolation(f"{path}[{number}]", fault)


def _allowed_count(schema: FieldSchema) -> str:
    return f"allowed are 1 to {_VALUES_LIMIT}" if schema.repeated else "exactly 1 is allowed: it is not repeated"


def _value_fault(value: Value, kind: str, schema: FieldSchema) -> str | None:
    name = schema.name
    given = value.WhichOneof("kind")
    if given != kind:
        return f"{name} is {FieldType.Name(schema.type)[11:]} and takes {kind}, not {given or 'an empty value'}"
    if kind == "double_value" and not math.isfinite(value.double_value):
        return f"{name} must be finite"
    if kind == "timestamp_value" and not _is_moment(value.timestamp_value.seconds, value.timestamp_value.nanos):
        return f"{name} must lie in the years 1 to 9999"
    if kind == "geo_value":
        point = value.geo_value
        if not (-90 <= point.latitude <= 90 and -180 <= point.longitude <= 180):
            return f"{name} must have a latitude of -90 to 90 and a longitude of -180 to 180 degrees"
    return None


def _check_embeddings(document: RawDocument, epoch: Epoch) -> Iterator[FieldViolation]:
    names: set[str] = set()
    for index, embedding in enumerate(document.embeddings):
        path = f"embeddings[{index}]"
        schema = epoch.embeddings.get(embedding.name)
        if schema is None:
            yield FieldViolation(f"{path}.name", f"{embedding.name!r} is not an embedding of epoch {document.epoch}")
            continue
        if embedding.name in names:
            yield FieldViolation(f"{path}.name", f"{embedding.name} is used twice")
        names.add(embedding.name)
        if len(embedding.values) != schema.dimension:
            text = f"{embedding.name} has {len(embedding.values)} components, the schema requires {schema.dimension}"
            yield FieldViolation(f"{path}.values", text)
        elif not all(map(math.isfinite, embedding.values)):
            yield FieldViolation(f"{path}.values", f"{embedding.name} must have finite components")
