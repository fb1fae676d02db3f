"""Spans of RPCs, on both sides."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

_tracer = trace.get_tracer("classifeed")


class CallSpan:
    """The span of one RPC, by the semantic conventions of OpenTelemetry."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def fail(self, reason: str) -> None:
        """Mark the call as failed, with the reason of its error."""
        self._span.set_status(Status(StatusCode.ERROR, reason))

    def end(self, code: str) -> None:
        """End the span with the status code's name."""
        self._span.set_attribute("rpc.response.status_code", code)
        self._span.end()


def start_server_span(method: str, metadata: Mapping[str, Any]) -> CallSpan:
    """Start the span of a call being handled, as a child of its caller's, and make it this task's current one.

    It is never detached: the task ends with its call, and a cancelled stream is closed by another task.
    """
    parent = propagate.extract({key: value for key, value in metadata.items() if isinstance(value, str)})
    span = _tracer.start_span(method, context=parent, kind=SpanKind.SERVER, attributes=_attributes(method))
    otel_context.attach(trace.set_span_in_context(span, parent))
    return CallSpan(span)


def client_span(method: str, carrier: MutableMapping[str, str]) -> CallSpan:
    """Start the span of an outgoing call, and put its context into the metadata; the caller ends the span."""
    span = _tracer.start_span(method, kind=SpanKind.CLIENT, attributes=_attributes(method))
    propagate.inject(carrier, context=trace.set_span_in_context(span))
    return CallSpan(span)


def _attributes(method: str) -> dict[str, str]:
    return {"rpc.system.name": "grpc", "rpc.method": method}
