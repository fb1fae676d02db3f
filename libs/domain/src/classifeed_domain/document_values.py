"""The member of `Value.kind` for each type of field in a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed.documents.v1.schema_pb2 import FieldType

# Names of the members of `Value.kind`.
VALUE_KINDS: Final[Mapping[int, str]] = {
    FieldType.FIELD_TYPE_STRING: "string_value",
    FieldType.FIELD_TYPE_TEXT: "string_value",
    FieldType.FIELD_TYPE_INT: "int_value",
    FieldType.FIELD_TYPE_DOUBLE: "double_value",
    FieldType.FIELD_TYPE_BOOL: "bool_value",
    FieldType.FIELD_TYPE_TIMESTAMP: "timestamp_value",
    FieldType.FIELD_TYPE_GEO_POINT: "geo_value",
}
