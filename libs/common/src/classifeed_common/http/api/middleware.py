"""ApiMiddleware: authentication, limits, audit log, metrics and error responses of every operation."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Generic
from uuid import uuid4

import structlog
from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from classifeed_common.errors import DomainError
from classifeed_common.http.api.bodies import Body, check_json
from classifeed_common.http.api.callers import CallerCheck
from classifeed_common.http.api.checking import checked
from classifeed_common.http.api.metrics import ContractMetrics
from classifeed_common.http.api.operations import ApiRequest, Operation, ServicesT
from classifeed_common.http.app import require_open
from classifeed_common.http.problems import handle_error
from classifeed_common.rpc.call import REQUEST_ID_KEY, enter_call
from classifeed_common.telemetry.metrics import HTTP_REFUSALS, HTTP_SERVER_DURATION


class ApiMiddleware(Generic[ServicesT]):
    """Serves the operations of an API.

    Args:
        name: name of the API in metrics.
        package: package that names its log, audit log and spans.
        services: services that the handlers use.
        callers: check of callers and their limits.
        metrics: metrics that the API's contract names; None: none.
    """

    def __init__(
        self,
        name: str,
        package: str,
        services: ServicesT,
        *,
        callers: CallerCheck,
        metrics: ContractMetrics | None = None,
    ) -> None:
        self._name = name
        self._services = services
        self._callers = callers
        self._metrics = metrics
        self._log = structlog.get_logger(f"{package}.api")
        self._audit = structlog.get_logger(f"{package}.audit")
        self._tracer = trace.get_tracer(package)

    async def response(self, operation: Operation[ServicesT], request: Request) -> Response:
        """Return the response to a request; every error becomes a problem document."""
        started = time.perf_counter()
        labels = (operation.method, operation.path)
        request_id = request.headers.get(REQUEST_ID_KEY, "")[:64] or uuid4().hex
        structlog.contextvars.bind_contextvars(request_id=request_id)
        line = {"method": operation.method, "path": request.url.path, "client": _client(request)}
        if self._metrics is not None:
            self._metrics.requests.labels(*labels).inc()
        if operation.is_audited:
            self._audit.info("api.request.started", **line)
        by = "-"
        body = Body(request, operation.max_body_bytes)
        with self._tracer.start_as_current_span(
            f"{operation.method} {operation.path}", context=propagate.extract(request.headers), kind=SpanKind.SERVER
        ) as span:
            try:
                with _counted(self._name):
                    if operation.rpc is not None:
                        by = self._callers.admit(operation.rpc, request.headers, _client(request))
                        enter_call(operation.path, caller=by, request_id=request_id, time_left_s=None)
                        require_open(request)
                    checked_request = ApiRequest(by, request.path_params, *await _content(operation, request, body))
                response = _written(await operation.do(self._services, checked_request))
            except Exception as error:  # noqa: BLE001 nothing may leave the API unexplained
                response = await handle_error(request, error)
                if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    self._log.error("api.error", status=response.status_code, error=type(error).__name__, **line)
            span.set_attribute("http.response.status_code", response.status_code)
        took_s = time.perf_counter() - started
        self._measure(labels, response.status_code, took_s)
        if operation.is_audited:
            took_ms = round(took_s * 1000, 2)
            self._audit.info("api.request.ended", by=by, status=response.status_code, duration_ms=took_ms, **line)
        response.headers[REQUEST_ID_KEY] = request_id
        if body.leaves_rest:
            response.headers["Connection"] = "close"
        return response

    def _measure(self, labels: tuple[str, str], status: int, took_s: float) -> None:
        HTTP_SERVER_DURATION.labels(*labels, str(status)).observe(took_s)
        if self._metrics is not None:
            self._metrics.responses.labels(*labels, str(status)).inc()
            self._metrics.duration_ms.labels(*labels).observe(took_s * 1000)


@contextlib.contextmanager
def _counted(api: str) -> Iterator[None]:
    """Count the request if it is refused."""
    try:
        yield
    except DomainError as error:
        HTTP_REFUSALS.labels(api, error.reason).inc()
        raise


async def _content(
    operation: Operation[ServicesT], request: Request, body: Body
) -> tuple[BaseModel | None, BaseModel | None]:
    content = query = None
    if operation.body is not None:
        given = await body.read()
        check_json(given, most_deep=operation.max_json_depth, most_values=operation.max_json_values)
        content = checked(operation.body, given)
    if operation.query is not None:
        # A form sends an unused filter as `?queue=`.
        query = checked(operation.query, {name: value for name, value in request.query_params.items() if value})
    return content, query


def _written(response: BaseModel) -> Response:
    return Response(response.model_dump_json(exclude_unset=True), media_type="application/json")


def _client(request: Request) -> str:
    return request.client.host if request.client is not None else "-"
