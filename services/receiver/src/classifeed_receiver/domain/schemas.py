"""Schemas of epochs: their rules, and the changes allowed inside an epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from functools import cached_property
from typing import Final

from classifeed.documents.v1.schema_pb2 import (
    ANALYZER_NONE,
    ANALYZER_RU_EN,
    ANALYZER_UNSPECIFIED,
    FIELD_TYPE_GEO_POINT,
    FIELD_TYPE_TEXT,
    EmbeddingSchema,
    FieldSchema,
    Schema,
)
from classifeed_common.errors import FieldViolation
from classifeed_domain.document_bodies import BodyCodec
from classifeed_domain.document_values import VALUE_KINDS

_UNBOUNDED: Final = ("string_value", "int_value", "bool_value")


class EpochState(IntEnum):
    """State of an epoch; the numbers are those of the proto."""

    OPEN = 1
    ACTIVE = 2
    RETIRED = 3


@dataclass(frozen=True)
class Epoch:
    """An epoch with its schema, indexed for checking documents."""

    schema: Schema
    state: EpochState
    create_time: datetime

    @cached_property
    def fields(self) -> Mapping[str, FieldSchema]:
        """The fields by name."""
        return {field.name: field for field in self.schema.fields}

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """The kind of value that each field takes, by the field's name."""
        return {field.name: VALUE_KINDS[field.type] for field in self.schema.fields}

    @cached_property
    def unbounded_kinds(self) -> Mapping[str, str]:
        """As `kinds`, for the fields that accept every value of their kind only."""
        return {name: kind for name, kind in self.kinds.items() if kind in _UNBOUNDED}

    @cached_property
    def codec(self) -> BodyCodec:
        """Codec of document bodies."""
        return BodyCodec(self.schema)

    @cached_property
    def embeddings(self) -> Mapping[str, EmbeddingSchema]:
        """The embeddings by name."""
        return {embedding.name: embedding for embedding in self.schema.embeddings}

    @cached_property
    def required(self) -> frozenset[str]:
        """The names of the fields that every UPSERT must have."""
        return frozenset(field.name for field in self.schema.fields if field.required)


@dataclass(frozen=True)
class Epochs:
    """All epochs of one client."""

    by_number: Mapping[int, Epoch]

    @cached_property
    def active(self) -> int:
        """The number of the epoch that is searched; 0: the client has none."""
        return next((number for number, epoch in self.by_number.items() if epoch.state == EpochState.ACTIVE), 0)

    @cached_property
    def abandoned(self) -> frozenset[int]:
        """Numbers of the epochs that are newer than the active one and were retired without being activated.

        A document stored in one of them is replaced by any document of the active epoch.
        """
        return frozenset(
            number
            for number, epoch in self.by_number.items()
            if number > self.active and epoch.state == EpochState.RETIRED
        )


def list_faults(schema: Schema) -> list[FieldViolation]:
    """Return the violations of rules within a schema; [] if there are none."""
    faults = []
    seen: set[str] = set()
    for index, field in enumerate(schema.fields):
        path = f"schema.fields[{index}]"
        if field.name in seen:
            faults.append(FieldViolation(f"{path}.name", f"{field.name} is used twice; names are unique"))
        seen.add(field.name)
        faults += [FieldViolation(f"{path}.{part}", text) for part, text in _field_faults(field)]
    for index, embedding in enumerate(schema.embeddings):
        if embedding.name in seen:
            text = f"{embedding.name} is used twice; names are unique among fields and embeddings"
            faults.append(FieldViolation(f"schema.embeddings[{index}].name", text))
        seen.add(embedding.name)
    return faults


def _field_faults(field: FieldSchema) -> Iterable[tuple[str, str]]:
    is_text = field.type == FIELD_TYPE_TEXT
    if is_text and field.analyzer == ANALYZER_UNSPECIFIED:
        yield "analyzer", f"{field.name} is TEXT and needs an analyzer, ANALYZER_NONE or ANALYZER_RU_EN"
    if not is_text and field.analyzer in (ANALYZER_NONE, ANALYZER_RU_EN):
        yield "analyzer", f"{field.name} is not TEXT, so it has no analyzer; leave it unset"
    if not is_text and field.boost:
        yield "boost", f"{field.name} is not TEXT, so it has no weight; leave it 0"
    if field.sortable and field.repeated:
        yield "sortable", f"{field.name} is repeated, so hits cannot be sorted by it; choose one of the two"
    if field.type in (FIELD_TYPE_TEXT, FIELD_TYPE_GEO_POINT):
        kind = "TEXT" if is_text else "GEO_POINT"
        for flag in ("facet", "sortable"):
            if getattr(field, flag):
                yield flag, f"{field.name} is {kind}, which cannot be {flag}; add a field of another type for this"


def list_incompatible_changes(old: Schema, new: Schema) -> list[str]:
    """Return the reasons that forbid `new` in the epoch of `old`; [] if only optional fields were added.

    The stored and indexed documents of the epoch must still fit the new schema.
    """
    changes = []
    old_fields = {field.name: field for field in old.fields}
    new_fields = {field.name: field for field in new.fields}
    for name, field in old_fields.items():
        if name not in new_fields:
            changes.append(f"field {name} is missing; stored documents have it")
        elif new_fields[name] != field:
            changes.append(f"field {name} differs in {', '.join(_differences(field, new_fields[name]))}")
    changes += [
        f"field {name} is new and required; stored documents lack it"
        for name, field in new_fields.items()
        if name not in old_fields and field.required
    ]
    if {e.name: e.dimension for e in old.embeddings} != {e.name: e.dimension for e in new.embeddings}:
        changes.append("the embeddings differ")
    return changes


def _differences(old: FieldSchema, new: FieldSchema) -> list[str]:
    names = [field.name for field in FieldSchema.DESCRIPTOR.fields]
    return [name for name in names if getattr(old, name) != getattr(new, name)]


def merge(old: Schema, new: Schema) -> Schema:
    """Return `old` plus the fields that only `new` has; new fields come last, so that the order never changes."""
    merged = Schema()
    merged.CopyFrom(old)
    known = {field.name for field in old.fields}
    merged.fields.extend(field for field in new.fields if field.name not in known)
    return merged
