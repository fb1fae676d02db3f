"""The trace that a job belongs to, where OpenTelemetry is installed (the extra `otel`); without it there is none."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias

Attributes: TypeAlias = Mapping[str, str | int]


def kept_trace() -> dict[str, str]:
    """Return the W3C headers of the current trace, to be kept in a row; empty outside of one."""
    if "opentelemetry.trace" not in sys.modules:
        return {}  # nobody can have begun a trace
    tracing = _tracing()
    return tracing.kept_trace() if tracing is not None else {}


def is_recorded() -> bool:
    """Return whether this process records spans."""
    trace = sys.modules.get("opentelemetry.trace")
    return trace is not None and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def job_span(name: str, kept: Mapping[str, str] | None, attributes: Attributes) -> Iterator[Any]:
    """Give the span of a run, in the trace that came with its job; None where there are no traces."""
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
