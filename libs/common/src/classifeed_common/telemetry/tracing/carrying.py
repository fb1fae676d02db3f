"""Propagation of traces through headers and rows.

They always use W3C Trace Context, even if OTEL_PROPAGATORS selects another format for calls: other programs read it,
and stored headers outlive settings.
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
    """Return the headers of a trace (default: the current one), to be stored in a row; empty outside a trace."""
    carrier: dict[str, str] = {}
    _w3c.inject(carrier, context)
    return carrier


def context_of(kept: Mapping[str, str] | None) -> Context:
    """Return the context in headers; without readable headers, a context without a trace."""
    return _w3c.extract(kept, Context()) if kept else Context()


def traceparent_of(context: Context) -> str:
    """Return `context` as the W3C header `traceparent`; empty outside a trace."""
    return kept_trace(context).get(_TRACEPARENT, "")


def is_traced(context: Context) -> bool:
    """Return whether a context is in a trace."""
    return trace.get_current_span(context).get_span_context().is_valid


def unrecorded(context: Context) -> Context:
    """Return a context of the same trace without recorded child spans; logs still name the trace."""
    found = trace.get_current_span(context).get_span_context()
    flags = TraceFlags(found.trace_flags & ~TraceFlags.SAMPLED)
    same = SpanContext(found.trace_id, found.span_id, found.is_remote, flags, found.trace_state)
    return trace.set_span_in_context(NonRecordingSpan(same), context)


@contextmanager
def entered(context: Context | None) -> Iterator[None]:
    """Run a block in a context's trace; None: in the current one."""
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
    """Run a block whose calls record no spans, on either side: for frequent polling."""
    nobody = SpanContext(_ids.generate_trace_id(), _ids.generate_span_id(), is_remote=False)
    with entered(trace.set_span_in_context(NonRecordingSpan(nobody))):
        yield


def describe_span(context: Context | None = None, **values: str | int) -> None:
    """Add attributes to a span, such as `seller="s1", task=7`; default: the current span."""
    span = trace.get_current_span(context)
    if span.is_recording():
        span.set_attributes({f"classifeed.{name}": value for name, value in values.items()})


def trace_ids() -> tuple[str, str] | None:
    """Return (trace id, span id) in hexadecimal, or None outside a trace."""
    found = trace.get_current_span().get_span_context()
    if not found.is_valid:
        return None
    return trace.format_trace_id(found.trace_id), trace.format_span_id(found.span_id)
