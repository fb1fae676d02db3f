"""The trace that work belongs to: taken along in headers and rows, and entered again on the other side.

There it is always W3C Trace Context, whatever OTEL_PROPAGATORS says of calls: others read it, and it outlives settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_TRACEPARENT: Final = "traceparent"
_w3c: Final = TraceContextTextMapPropagator()
_ids: Final = RandomIdGenerator()


def kept_trace(context: Context | None = None) -> dict[str, str]:
    """Return the headers of a trace (the current one unless given), to be kept in a row; empty outside of one."""
    carrier: dict[str, str] = {}
    _w3c.inject(carrier, context)
    return carrier


def context_of(kept: Mapping[str, str] | None) -> Context:
    """Return the context that headers stand for; one without a trace where there are none, or none that can be read."""
    return _w3c.extract(kept, Context()) if kept else Context()


def traceparent_of(context: Context) -> str:
    """Return `context` as the W3C header `traceparent`; empty when it is in no trace."""
    return kept_trace(context).get(_TRACEPARENT, "")


def is_traced(context: Context) -> bool:
    """Whether a context is in a trace."""
    return trace.get_current_span(context).get_span_context().is_valid


def unrecorded(context: Context) -> Context:
    """Return a context of the same trace below which no spans are recorded: logs still name the trace."""
    found = trace.get_current_span(context).get_span_context()
    flags = TraceFlags(found.trace_flags & ~TraceFlags.SAMPLED)
    same = SpanContext(found.trace_id, found.span_id, found.is_remote, flags, found.trace_state)
    return trace.set_span_in_context(NonRecordingSpan(same), context)


@contextmanager
def entered(context: Context | None) -> Iterator[None]:
    """Have what runs inside belong to a context's trace; None: to the current one."""
    if context is None:
        yield
        return
    token = otel_context.attach(context)
    try:
        yield
    finally:
        otel_context.detach(token)


@contextmanager
def untraced() -> Iterator[None]:
    """Have calls made inside record no spans, on either side: for what is requested again and again."""
    nobody = SpanContext(_ids.generate_trace_id(), _ids.generate_span_id(), is_remote=False)
    with entered(trace.set_span_in_context(NonRecordingSpan(nobody))):
        yield


def describe_span(context: Context | None = None, **values: str | int) -> None:
    """Say on a span what it is about, e.g. `seller="s1", task=7`; on the current one unless `context` has another."""
    span = trace.get_current_span(context)
    if span.is_recording():
        span.set_attributes({f"classifeed.{name}": value for name, value in values.items()})


def trace_ids() -> tuple[str, str] | None:
    """Return (trace id, span id) in hexadecimal, or None outside of a trace."""
    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return None
    return trace.format_trace_id(found.trace_id), trace.format_span_id(found.span_id)
