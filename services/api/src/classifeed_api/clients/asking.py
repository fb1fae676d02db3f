"""Calls another service for optional data."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import grpc
import structlog

from classifeed_api.domain.unknown import UNKNOWN, Unknown

_log = structlog.get_logger(__name__)
Response = TypeVar("Response")


async def ask(call: Awaitable[Response], what: str) -> Response | Unknown | None:
    """Return the response of a call; None if the object does not exist, UNKNOWN if there was no response.

    Args:
        call: the call, with its deadline set.
        what: purpose of the call, for the log.
    """
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            return None
        _log.info("api.unasked", what=what, code=error.code().name, details=error.details())
        return UNKNOWN
