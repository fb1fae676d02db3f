"""Mapping of the fields of a client's schema to fields of the index."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import tantivy

from classifeed.documents.v1 import schema_pb2
from classifeed_searcher.engine.analysis import PLAIN, RU_EN

PK = "_pk"
SOURCE = "_source"  # the serialized Hit message; responses read fields only from here
# Columns for the comparison of the index with the registry: shard, and the two digests of key and version.
SHARD, DIGEST_A, DIGEST_B = "_shard", "_digest_a", "_digest_b"


class WrongValue(ValueError):
    """A value that its field cannot hold. It is checked before it is written, because it kills the engine's writer."""


def build_index_schema(schema: schema_pb2.Schema) -> tantivy.Schema:
    """Return the engine's schema: the fields that are searched, and some internal ones."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(PK, stored=False, tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field(SOURCE, stored=True)
    for name in (SHARD, DIGEST_A, DIGEST_B):
        builder.add_unsigned_field(name, fast=True)
    for field in schema.fields:
        if not (field.indexed or field.sortable or field.facet):
            continue
        match field.type:
            case schema_pb2.FIELD_TYPE_TEXT:
                name = RU_EN if field.analyzer == schema_pb2.ANALYZER_RU_EN else PLAIN
                builder.add_text_field(field.name, tokenizer_name=name)
            case schema_pb2.FIELD_TYPE_STRING:
                builder.add_text_field(field.name, tokenizer_name="raw", fast=True, index_option="basic")
            case schema_pb2.FIELD_TYPE_INT:
                builder.add_integer_field(field.name, indexed=True, fast=True)
            case schema_pb2.FIELD_TYPE_DOUBLE:
                builder.add_float_field(field.name, indexed=True, fast=True)
            case schema_pb2.FIELD_TYPE_BOOL:
                builder.add_boolean_field(field.name, indexed=True, fast=True)
            case schema_pb2.FIELD_TYPE_TIMESTAMP:
                builder.add_date_field(field.name, indexed=True, fast=True)
            case schema_pb2.FIELD_TYPE_GEO_POINT:
                builder.add_float_field(f"{field.name}_lat", indexed=True, fast=True)
                builder.add_float_field(f"{field.name}_lng", indexed=True, fast=True)
    return builder.build()


def read_bound(schema: schema_pb2.FieldSchema, text: str) -> Any:
    """Parse a bound or value of a query as the type of its field.

    Raises:
        WrongValue: the text is not a value of this type.
    """
    try:
        match schema.type:
            case schema_pb2.FIELD_TYPE_INT:
                return int(text)
            case schema_pb2.FIELD_TYPE_DOUBLE:
                return float(text.replace(",", "."))
            case schema_pb2.FIELD_TYPE_BOOL:
                return {"true": True, "false": False}[text.lower()]
            case schema_pb2.FIELD_TYPE_TIMESTAMP:
                moment = datetime.fromisoformat(text)
                return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            case _:
                return text
    except (ValueError, KeyError) as error:
        kind = schema_pb2.FieldType.Name(schema.type).removeprefix("FIELD_TYPE_").lower()
        raise WrongValue(f"{text!r} is not a value of {schema.name}, which is of type {kind}") from error
