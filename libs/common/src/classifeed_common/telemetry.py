"""Traces: spans around calls, the trace context in metadata and headers, and where finished spans go.

Without `telemetry_file` spans are made (logs carry their trace ids) and dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import propagate, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, Status, StatusCode

_tracer = trace.get_tracer("classifeed")


class FileSpanExporter(SpanExporter):
    """Appends finished spans to a file, one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Writes a batch with one write, so that processes can share the file."""
        lines = "".join(json.dumps(json.loads(span.to_json(indent=None))) + "\n" for span in spans)
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(lines)
        except OSError:
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS


def configure_tracing(service: str, *, environment: str = "dev", file: Path | None = None) -> TracerProvider:
    """Sets the process's tracer provider and returns it; call `shutdown()` on it to flush. Once per process."""
    resource = Resource.create({"service.name": service, "deployment.environment.name": environment})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    if file is not None:
        provider.add_span_processor(BatchSpanProcessor(FileSpanExporter(file)))
    trace.set_tracer_provider(provider)
    return provider


def inject_trace(carrier: MutableMapping[str, str]) -> None:
    """Puts the current trace context into metadata or headers (`traceparent`)."""
    propagate.inject(carrier)


def trace_ids() -> tuple[str, str] | None:
    """Returns (trace id, span id) in hexadecimal, or None outside of a trace."""
    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return None
    return trace.format_trace_id(found.trace_id), trace.format_span_id(found.span_id)


class CallSpan:
    """The span of one RPC, by the semantic conventions of OpenTelemetry."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def fail(self, reason: str) -> None:
        """Marks the call as failed, with the reason of its error."""
        self._span.set_status(Status(StatusCode.ERROR, reason))

    def end(self, code: str) -> None:
        """Ends the span with the status code's name."""
        self._span.set_attribute("rpc.response.status_code", code)
        self._span.end()


@contextmanager
def server_span(method: str, metadata: Mapping[str, Any]) -> Iterator[CallSpan]:
    """Starts the span of a call being answered, as a child of its caller's, and makes it this task's current one.

    It is not detached at the end: the task ends with its call, and a cancelled stream is closed from elsewhere.
    """
    parent = propagate.extract({key: value for key, value in metadata.items() if isinstance(value, str)})
    span = _tracer.start_span(method, context=parent, kind=SpanKind.SERVER, attributes=_attributes(method))
    otel_context.attach(trace.set_span_in_context(span, parent))
    yield CallSpan(span)


def client_span(method: str, carrier: MutableMapping[str, str]) -> CallSpan:
    """Starts the span of a call being made and puts its context into the metadata; the caller ends it."""
    span = _tracer.start_span(method, kind=SpanKind.CLIENT, attributes=_attributes(method))
    propagate.inject(carrier, context=trace.set_span_in_context(span))
    return CallSpan(span)


def _attributes(method: str) -> dict[str, str]:
    return {"rpc.system.name": "grpc", "rpc.method": method}
