"""Documents of a client as documents of the engine, with the hits that are kept with them."""

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
    """A document as the queue's messages or the registry's rows have it."""

    pk: str
    version: int
    action: document_pb2.DocumentAction
    timestamp: Timestamp
    fields: Any
    body: str

    def HasField(self, field_name: Any) -> bool:  # noqa: N802 - a message's own name
        """Whether a field is set."""
        ...


class DocumentComposer:
    """Composes for one index.

    Args:
        schema: of the client's documents.
        engine_schema: the engine's, made of it.
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
        """Return a document as the engine takes it.

        Raises:
            WrongValue: a value has another type than the schema says. The engine's writer would die of it.
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
        # Names that the engine's schema does not have are left out by it.
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
                continue  # it came into the epoch later: kept with the hit, searched after a rebuild
            kind = VALUE_KINDS[schema.type]
            for value in field.values:
                if (found := value.WhichOneof("kind")) != kind:
                    raise WrongValue(f"field {field.name}: {found or 'no value'} where the schema requires {kind}")
            values[field.name] = [native_value(value) for value in field.values]
        return values
