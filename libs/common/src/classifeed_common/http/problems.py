"""Errors as problem documents (RFC 9457), from the same table as the gRPC statuses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classifeed_common.errors import DomainError, kind_of
from classifeed_common.rpc.faults import explain

# More exact statuses than the error's class gives, by reason.
_EXACT_STATUSES: Final[Mapping[str, HTTPStatus]] = {
    "BODY_TOO_LARGE": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "CONTENT_TYPE_NOT_JSON": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "URLS_TOO_LARGE": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "TOO_LARGE": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
}


def problem_of(error: DomainError, *, instance: str, status: int | None = None) -> JSONResponse:
    """Return the response for an error; `type` is a stable URN of the reason.

    Args:
        error: the error.
        instance: path of the request.
        status: more exact status of the route; None: the error's.
    """
    code = status if status is not None else _EXACT_STATUSES.get(error.reason, kind_of(error)[1])
    body: dict[str, Any] = {
        "type": f"urn:classifeed:error:{error.reason}",
        "title": type(error).__name__,
        "status": code,
        "detail": error.message,
        "instance": instance,
        "reason": error.reason,
    }
    if error.metadata:
        body["metadata"] = error.metadata
    if error.violations:
        body["violations"] = [{"field": v.field, "description": v.description} for v in error.violations]
    headers = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    return JSONResponse(body, status_code=code, headers=headers, media_type="application/problem+json")


async def handle_error(request: Request, error: Exception) -> Response:
    """Return the problem for an exception of a route; for Starlette's `exception_handlers`."""
    return problem_of(explain(error, f"{request.method} {request.url.path}"), instance=request.url.path)


async def handle_http_error(request: Request, error: Exception) -> Response:
    """Return the problem for a refusal of the router: an unknown path, or a method that the path does not have."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    body = {
        "type": f"urn:classifeed:error:{status.name}",
        "title": status.phrase,
        "status": status.value,
        "detail": f"{request.method} {request.url.path}: {error.detail}",
        "instance": request.url.path,
        "reason": status.name,
    }
    headers = dict(error.headers or {})
    return JSONResponse(body, status_code=status, headers=headers, media_type="application/problem+json")


class Problems:
    """Middleware that turns any exception of a route into a problem, and logs a fault of ours once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; once a response has begun, exceptions are raised."""
        has_begun = False

        async def observe(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, observe)
        except Exception as error:
            if has_begun or scope["type"] != "http":
                raise
            response = await handle_error(Request(scope), error)
            await response(scope, receive, send)
