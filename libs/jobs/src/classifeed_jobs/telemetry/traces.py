"""Traces of jobs, if OpenTelemetry is installed (the extra `otel`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

Attributes: TypeAlias = Mapping[str, str | int]


def kept_trace() -> dict[str, str]:
    """Return the W3C headers of the current trace, to store in a row; empty outside of a trace."""
    if "opentelemetry.trace" not in sys.modules:
        return {}  # no trace can have begun
    tracing = _tracing()
    return tracing.kept_trace() if tracing is not None else {}


def is_recorded() -> bool:
    """Return whether this process records spans."""
    trace = sys.modules.get("opentelemetry.trace")
    return trace is not None and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def job_span(name: str, kept: Mapping[str, str] | None, attributes: Attributes) -> Iterator[Any]:
    """Provide the span of a run, in the trace of its job; None without OpenTelemetry."""
    tracing = _tracing()
    if tracing is None:
        yield None
        return
    from opentelemetry.trace import SpanKind, get_tracer

    with get_tracer("classifeed_jobs").start_as_current_span(
        name, context=tracing.context_of(kept), kind=SpanKind.CONSUMER, attributes=attributes
    ) as span:
        yield span


@cache
def _tracing() -> Any:
    try:
        from classifeed_common.telemetry import tracing
    except ImportError:
        return None
    return tracing
