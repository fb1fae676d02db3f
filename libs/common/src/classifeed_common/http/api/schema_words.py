"""JSON Schema keywords for values that a function checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema


@dataclass(frozen=True, eq=False)
class Described:
    """Annotation that adds keywords to the JSON Schema of a type; checks nothing.

    Attributes:
        keywords: JSON Schema keywords by name.
    """

    keywords: Mapping[str, Any]

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the type's schema with the keywords."""
        return {**handler(core_schema), **self.keywords}


NO_CONTROLS: Final = {"pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$"}
NO_NUL: Final = {"pattern": r"^[^\u0000]*$"}
