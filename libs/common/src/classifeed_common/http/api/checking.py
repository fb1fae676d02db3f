"""Validation of request values by their models, for HTTP and gRPC alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from classifeed_common.errors import FieldViolation, InvalidArgument

ModelT = TypeVar("ModelT", bound=BaseModel)


def checked(model: type[ModelT], values: Mapping[str, Any] | bytes) -> ModelT:
    """Return the model of a request, given as JSON or as values.

    Raises:
        InvalidArgument: REQUEST_INVALID, with each wrong field.
    """
    try:
        return model.model_validate_json(values) if isinstance(values, bytes) else model.model_validate(values)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
        raise refusal([FieldViolation(_place(fault["loc"]), _words(fault["msg"])) for fault in faults]) from error


def refusal(violations: list[FieldViolation]) -> InvalidArgument:
    """Return the error for a request with these wrong fields."""
    first = violations[0]
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    message = f"{first.field}: {first.description}" if first.field else first.description
    return InvalidArgument(
        "REQUEST_INVALID", f"{message}{more}. Correct the request and send it again.", violations=violations
    )


def _place(path: tuple[int | str, ...]) -> str:
    place = ""
    for step in path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    return place


def _words(message: str) -> str:
    words = message.removeprefix("Value error, ")
    return words[:1].lower() + words[1:]
