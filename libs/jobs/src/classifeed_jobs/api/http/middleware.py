"""The door of the HTTP face: who asks, audit, metrics and errors around every operation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from uuid import uuid4

import structlog
from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from classifeed_common.auth import KeyStore, Policy
from classifeed_common.errors import InvalidArgument, Unauthenticated
from classifeed_common.http.app import require_open
from classifeed_common.http.problems import handle_error
from classifeed_common.rpc.call import REQUEST_ID_KEY, enter_call
from classifeed_jobs.api.http.metrics import DURATION, REQUESTS, RESPONSES
from classifeed_jobs.api.http.operations import SERVICE, ApiRequest, ApiServices, Operation
from classifeed_jobs.api.requests import checked

_log = structlog.get_logger("classifeed_jobs.api")
_audit = structlog.get_logger("classifeed_jobs.audit")
_tracer = trace.get_tracer("classifeed_jobs")
_BODY_LIMIT_S: Final = 20.0
_NOTHING: Final[Mapping[str, Any]] = {}


class ApiMiddleware:
    """Lets requests in.

    Args:
        services: what the operations work with.
        keys: verify the tickets of callers; None: callers are not asked.
        policy: who may call which method of JobService, and so which operation.
    """

    def __init__(self, services: ApiServices, *, keys: KeyStore | None, policy: Policy) -> None:
        self._services = services
        self._keys = keys
        self._policy = policy

    async def response(self, operation: Operation, request: Request) -> Response:
        """Answers a request, whatever becomes of it; an error is a problem document."""
        started = time.perf_counter()
        labels = (operation.method, operation.path)
        request_id = request.headers.get(REQUEST_ID_KEY, "")[:64] or uuid4().hex
        structlog.contextvars.bind_contextvars(request_id=request_id)
        line = {"method": operation.method, "path": request.url.path, "client": _client(request)}
        REQUESTS.labels(*labels).inc()
        if operation.is_audited:
            _audit.info("api.request.started", **line)
        by = "-"
        with _tracer.start_as_current_span(
            f"{operation.method} {operation.path}", context=propagate.extract(request.headers), kind=SpanKind.SERVER
        ) as span:
            try:
                if operation.rpc is not None:
                    by = self._admit(operation.rpc, request)
                    enter_call(operation.path, caller=by, request_id=request_id, time_left_s=None)
                    require_open(request)
                checked_request = ApiRequest(by, request.path_params, *await _content(operation, request))
                response = _written(await operation.do(self._services, checked_request))
            except Exception as error:  # noqa: BLE001 nothing may leave the door unexplained
                response = await handle_error(request, error)
                if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    _log.error("api.error", status=response.status_code, error=type(error).__name__, **line)
            span.set_attribute("http.response.status_code", response.status_code)
        took_ms = (time.perf_counter() - started) * 1000
        RESPONSES.labels(*labels, str(response.status_code)).inc()
        DURATION.labels(*labels).observe(took_ms)
        if operation.is_audited:
            _audit.info("api.request.ended", by=by, status=response.status_code, duration_ms=round(took_ms, 2), **line)
        response.headers[REQUEST_ID_KEY] = request_id
        return response

    def _admit(self, rpc: str, request: Request) -> str:
        """Return who asks, once it is clear that they may."""
        if self._keys is None:
            return f"anonymous@{_client(request)}"
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated(
                "TICKET_MISSING", "This needs a ticket: send it as a header `Authorization: Bearer <ticket>`."
            )
        ticket = self._keys.verify(token.strip(), self._services.info.service)
        self._policy.check(SERVICE + rpc, ticket.caller, ticket.may)
        return ticket.caller


async def _content(operation: Operation, request: Request) -> tuple[BaseModel | None, BaseModel | None]:
    body = query = None
    if operation.body is not None:
        body = checked(operation.body, await _read(request, operation.max_body_bytes))
    if operation.query is not None:
        # `?queue=` is what a form sends for a filter that is not used.
        query = checked(operation.query, {name: value for name, value in request.query_params.items() if value})
    return body, query


async def _read(request: Request, limit: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_LIMIT_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise InvalidArgument(
                        "BODY_TOO_LARGE", f"The body is larger than {limit} bytes. Send less at once."
                    )
    except TimeoutError as error:
        raise InvalidArgument(
            "BODY_INCOMPLETE", f"The body was not complete after {_BODY_LIMIT_S:g} s. Send it again."
        ) from error
    except ClientDisconnect as error:
        raise InvalidArgument("BODY_INCOMPLETE", "The body ended before it was complete.") from error
    return bytes(body)


def _written(response: BaseModel) -> Response:
    return Response(response.model_dump_json(exclude_unset=True), media_type="application/json")


def _client(request: Request) -> str:
    return request.client.host if request.client is not None else "-"
