"""OpenAPI schemas of JSON that can be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from classifeed_common.http.api.schema_words import NO_NUL

_ANY_VALUE_REF: Final = {"$ref": "#/components/schemas/JsonValue"}
STORABLE_OBJECT: Final[Mapping[str, Any]] = {"propertyNames": NO_NUL, "additionalProperties": _ANY_VALUE_REF}
JSON_VALUE: Final[Mapping[str, Any]] = {
    "title": "JsonValue",
    "description": "Any JSON without NUL characters, nested at most 30 levels deep.",
    "anyOf": [
        {"type": ["null", "boolean", "number"]},
        {"type": "string", **NO_NUL},
        {"type": "array", "items": _ANY_VALUE_REF},
        {"type": "object", **STORABLE_OBJECT},
    ],
}
