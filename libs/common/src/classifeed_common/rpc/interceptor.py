"""CallInterceptor: authenticates, validates, measures and traces every call, and explains its errors.

It is one interceptor instead of a chain because the order matters: a refused call is still measured, and nothing is
validated for a caller without permission. Also, the wrapped handler of a method is created only once.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Final, Self, cast
from uuid import uuid4

import grpc
import grpc.aio
import structlog

from classifeed_common.auth.owners import OwnerGuard
from classifeed_common.auth.policy import Policy
from classifeed_common.auth.service_tokens import KeyStore, ServiceToken
from classifeed_common.errors import Unauthenticated, Unavailable
from classifeed_common.rpc.call import REQUEST_ID_KEY, UNSIGNED, enter_call
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.faults import explain
from classifeed_common.rpc.refused_streams import read_rest
from classifeed_common.rpc.status import DETAILS_KEY, to_status
from classifeed_common.rpc.texts import receive_with
from classifeed_common.rpc.validation import check_received, check_requests
from classifeed_common.telemetry.logging import RPC_AUDIT
from classifeed_common.telemetry.metrics import RPC_SERVER_ACTIVE, RPC_SERVER_DURATION
from classifeed_common.telemetry.tracing import start_server_span

_audit = structlog.get_logger(RPC_AUDIT)
_audit_logger = logging.getLogger(RPC_AUDIT)
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}


class _Method:
    """A method with its metrics, which are looked up once: a look-up takes 10 µs, as long as all other measurements.

    Args:
        path: name in gRPC's form, with a leading slash.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = path.removeprefix("/")
        self.active = RPC_SERVER_ACTIVE.labels(self.name)
        self._durations: dict[grpc.StatusCode, Any] = {}

    def observe(self, code: grpc.StatusCode, took_s: float) -> None:
        """Count a completed call."""
        duration = self._durations.get(code)
        if duration is None:
            duration = self._durations[code] = RPC_SERVER_DURATION.labels(self.name, code.name)
        duration.observe(took_s)


class _HandledCall:
    """A call under way: counts it, traces it, and reports its errors."""

    __slots__ = ("_code", "_context", "_method", "_span", "_started_s", "_streaming", "is_audited", "metadata")

    def __init__(self, method: _Method, context: Context, *, streaming: bool) -> None:
        self._streaming = streaming
        self.metadata: dict[str, Any] = {str(key): value for key, value in context.invocation_metadata() or ()}
        self.is_audited = _audit_logger.isEnabledFor(logging.INFO)
        self._method = method
        self._context = context
        self._code: grpc.StatusCode | None = None
        self._started_s = time.perf_counter()
        method.active.inc()
        self._span = start_server_span(method.name, self.metadata)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                await self._fail(error)
        finally:
            self._end()

    async def _fail(self, error: BaseException) -> None:
        """Record the error of the call; if it has no status yet, end it with the error's, by AbortError."""
        context = self._context
        if isinstance(error, grpc.aio.AbortError):
            self._code = _set_code(context) or grpc.StatusCode.UNKNOWN
        elif not isinstance(error, Exception):
            self._code = _why_cancelled(context)
        else:
            domain_error = explain(error, self._method.path)
            status = to_status(domain_error)
            self._code = _CODES[status.code]
            self._span.fail(domain_error.reason)
            if self._streaming:
                await read_rest(context.read)
            await context.abort(self._code, status.message, ((DETAILS_KEY, status.SerializeToString()),))

    def _end(self) -> None:
        """Count the call by its status."""
        code = self._code or _set_code(self._context) or grpc.StatusCode.OK
        self._method.active.dec()
        took_s = time.perf_counter() - self._started_s
        self._method.observe(code, took_s)
        if self.is_audited:
            _audit.info("rpc.request.ended", code=code.name, duration_ms=round(took_s * 1000, 2))
        self._span.end(code.name)


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every method except standard health and reflection.

    Args:
        audience: name of this service; tokens must be for it.
        keys: keys that verify tokens; None: callers need no token (loopback without keys).
        policy: policy of callers and methods.
        is_started: whether the servicers have their dependencies; until then calls are Unavailable.
    """

    def __init__(
        self, *, audience: str, keys: KeyStore | None, policy: Policy, is_started: Callable[[], bool] = lambda: True
    ) -> None:
        self._is_started = is_started
        self._audience = audience
        self._keys = keys
        self._policy = policy
        self._wrapped: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Return the wrapped handler of the method."""
        method = handler_call_details.method
        handler = self._wrapped.get(method)
        if handler is None:
            found = await continuation(handler_call_details)
            if found is None or self._policy.is_open(method):
                return found
            handler = self._wrapped[method] = self._wrap(method, found)
        return handler

    def _wrap(self, method: str, handler: Any) -> grpc.RpcMethodHandler[Any, Any]:
        kinds = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }
        behavior = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
        wrap = self._handle_stream if handler.response_streaming else self._handle_unary
        make = kinds[handler.request_streaming, handler.response_streaming]
        return make(
            cast(Any, wrap(_Method(method), behavior, streaming=handler.request_streaming)),
            request_deserializer=receive_with(handler.request_deserializer, self._policy.limit_bytes(method)),
            response_serializer=_send_with(handler.response_serializer),
        )

    def _handle_unary(self, method: _Method, behavior: Callable[..., Any], *, streaming: bool) -> Callable[..., Any]:
        async def handle(request: Any, context: Context) -> Any:
            async with _HandledCall(method, context, streaming=streaming) as call:
                guard = self._admit(method.path, call.metadata, context, is_audited=call.is_audited)
                result = behavior(await _checked(request, context, guard, streaming=streaming), context)
                response = await result if inspect.isawaitable(result) else result
                if guard is not None:
                    guard.check_response(response)
                return response

        return handle

    def _handle_stream(self, method: _Method, behavior: Callable[..., Any], *, streaming: bool) -> Callable[..., Any]:
        async def handle(request: Any, context: Context) -> AsyncIterator[Any]:
            async with _HandledCall(method, context, streaming=streaming) as call:
                guard = self._admit(method.path, call.metadata, context, is_audited=call.is_audited)
                result = behavior(await _checked(request, context, guard, streaming=streaming), context)
                if inspect.isawaitable(result):
                    await result  # the servicer writes to the context directly
                    return
                async with aclosing(result) as messages:
                    async for message in messages:
                        if guard is not None:
                            guard.check_response(message)
                        yield message

        return handle

    def _admit(self, method: str, metadata: dict[str, Any], context: Context, *, is_audited: bool) -> OwnerGuard | None:
        """Check that the call is allowed; return the guard of its messages; None: they need no check."""
        caller, token = UNSIGNED, None
        try:
            if (token := self._authenticate(metadata)) is not None:
                caller = token.caller
        finally:
            request_id = str(metadata.get(REQUEST_ID_KEY) or uuid4().hex)[:64]
            call = enter_call(method, caller=caller, request_id=request_id, time_left_s=context.time_remaining())
            structlog.contextvars.bind_contextvars(rpc_method=method, caller=caller, request_id=call.request_id)
            if is_audited:
                _audit.info("rpc.request.started", client=context.peer())
        guard = None
        if token is not None:
            self._policy.check(method, caller, token.may)
            guard = self._policy.guard(method, caller, token.owners)
        if not self._is_started():
            raise Unavailable("STARTING", f"{self._audience} is still starting. Try again.", retry_after_s=1)
        return guard

    def _authenticate(self, metadata: dict[str, Any]) -> ServiceToken | None:
        if self._keys is None:
            return None
        scheme, _, token = str(metadata.get("authorization", "")).partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated(
                "TICKET_MISSING",
                f"Calls of {self._audience} need a token: send it as metadata `authorization: Bearer <token>`.",
            )
        return self._keys.verify(token, self._audience)


def _send_with(serialize: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Return a serializer for gRPC; it sends responses that the servicer has already serialized unchanged."""

    def send(response: Any) -> bytes:
        return response if isinstance(response, bytes) else serialize(response)

    return send


async def _checked(received: Any, context: Context, guard: OwnerGuard | None, *, streaming: bool) -> Any:
    if streaming:
        return check_requests(context.read, guard)
    request = await check_received(received)
    if guard is not None:
        guard.check_request(request)
    return request


def _set_code(context: Context) -> grpc.StatusCode | None:
    """Return the code that the servicer has set; grpc.aio returns None or a number, despite its type hints."""
    code: object = context.code()
    if isinstance(code, grpc.StatusCode):
        return code
    return _CODES[code] if isinstance(code, int) else None


def _why_cancelled(context: Context) -> grpc.StatusCode:
    left = context.time_remaining()
    return grpc.StatusCode.DEADLINE_EXCEEDED if left is not None and left <= 0 else grpc.StatusCode.CANCELLED
