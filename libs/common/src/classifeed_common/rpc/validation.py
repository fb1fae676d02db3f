"""Checks requests by the protovalidate rules that stand in the proto."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import protovalidate
from google.protobuf.message import Message

from classifeed_common.errors import FieldViolation, InvalidArgument


def check_request(request: Message) -> None:
    """Passes a request that keeps the rules of its proto. About 2 µs for a small one.

    Raises:
        InvalidArgument: it breaks some; each is named by its path, such as `filters[0].field`.
    """
    found = protovalidate.collect_violations(request)
    if not found:
        return
    violations = [_describe(violation) for violation in found]
    first = violations[0]
    more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
    raise InvalidArgument(
        "REQUEST_INVALID",
        f"{type(request).__name__}.{first.field}: {first.description}{more}. Correct the request and send it again.",
        violations=violations,
    )


async def check_requests(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Yields the messages of a stream, each checked before anybody sees it."""
    async for request in requests:
        check_request(request)
        yield request


def _describe(violation: protovalidate.Violation) -> FieldViolation:
    proto = violation.proto
    path = ""
    for element in proto.field.elements if proto.field is not None else ():
        path += f".{element.field_name}" if path else f"{element.field_name}"
        subscript = element.subscript
        if subscript is not None:
            key = subscript.value
            path += f"[{key!r}]" if isinstance(key, str) else f"[{key}]"
    return FieldViolation(path, proto.message or proto.rule_id or "is not valid")
