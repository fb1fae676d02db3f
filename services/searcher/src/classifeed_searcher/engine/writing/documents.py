"""Conversion of a client's documents to documents of the engine, with their stored hits."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
import tantivy
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.documents.v1 import document_pb2, schema_pb2
from classifeed.search.v1.search_service_pb2 import Hit
from classifeed_domain.document_bodies import BodyCodec, native_value
from classifeed_domain.document_digest import digest_of
from classifeed_domain.document_shards import hash_of, shard_of
from classifeed_domain.document_values import VALUE_KINDS
from classifeed_searcher.engine.fields import DIGEST_A, DIGEST_B, PK, SHARD, SOURCE, WrongValue
from classifeed_searcher.engine.spelling import spell_text


class SourceDocument(Protocol):
    """An IndexDocument of the topic, or a RawDocument of the registry."""

    pk: str
    version: int
    action: document_pb2.DocumentAction
    timestamp: Timestamp
    fields: Any
    body: str

    def HasField(self, field_name: Any) -> bool:  # noqa: N802 - a message's own name
        """Return whether a field is set."""
        ...


class DocumentComposer:
    """Composes documents of the engine for one index.

    Args:
        schema: schema of the client's documents.
        engine_schema: schema of the engine, built from `schema`.
    """

    def __init__(self, schema: schema_pb2.Schema, engine_schema: tantivy.Schema) -> None:
        self._engine_schema = engine_schema
        self._codec = BodyCodec(schema)
        self._fields = {field.name: field for field in schema.fields}
        searched = [field for field in schema.fields if field.indexed or field.sortable or field.facet]
        self._texts = [field.name for field in searched if field.type == schema_pb2.FIELD_TYPE_TEXT]
        self._points = [field.name for field in searched if field.type == schema_pb2.FIELD_TYPE_GEO_POINT]
        self._not_stored = frozenset(field.name for field in schema.fields if not field.stored)

    def compose(self, document: SourceDocument) -> tantivy.Document:
        """Return the engine's document.

        Raises:
            WrongValue: a value has another type than its field; it would kill the engine's writer.
        """
        hit = Hit(pk=document.pk, version=document.version)
        if document.HasField("timestamp"):
            hit.compose_time.CopyFrom(document.timestamp)
        hit.index_time.FromMicroseconds(time.time_ns() // 1000)  # a third of what GetCurrentTime takes
        if document.body:
            values = self._read(document.body)
            hit.body = self._codec.select(document.body, self._not_stored) if self._not_stored else document.body
        else:
            values = self._values_of(document.fields)
            hit.fields.extend(field for field in document.fields if field.name not in self._not_stored)
        return self._compose(values, hit)

    def _compose(self, values: dict[str, Any], hit: Hit) -> tantivy.Document:
        for name in self._texts:
            if (text := values.get(name)) is not None:
                values[name] = spell_text(text) if isinstance(text, str) else [spell_text(each) for each in text]
        for name in self._points:
            if (points := values.pop(name, None)) is not None:
                every = points if isinstance(points, list) else [points]
                values[f"{name}_lat"] = [point.latitude for point in every]
                values[f"{name}_lng"] = [point.longitude for point in every]
        pk_hash = hash_of(hit.pk)
        digest = digest_of(pk_hash, hit.version)
        values |= {
            PK: hit.pk,
            SHARD: shard_of(pk_hash),
            DIGEST_A: digest.a,
            DIGEST_B: digest.b,
            SOURCE: hit.SerializeToString(),
        }
        # The engine ignores names that its schema does not have.
        return tantivy.Document.from_dict(values, self._engine_schema)

    def _read(self, body: str) -> dict[str, Any]:
        try:
            return self._codec.read(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise WrongValue(f"body: {error}") from error

    def _values_of(self, fields: Iterable[document_pb2.Field]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for field in fields:
            schema = self._fields.get(field.name)
            if schema is None:
                continue  # a field that was added to the epoch later: stored in the hit, searched after a rebuild
            kind = VALUE_KINDS[schema.type]
            for value in field.values:
                if (found := value.WhichOneof("kind")) != kind:
                    raise WrongValue(f"field {field.name}: {found or 'no value'} where the schema requires {kind}")
            values[field.name] = [native_value(value) for value in field.values]
        return values
