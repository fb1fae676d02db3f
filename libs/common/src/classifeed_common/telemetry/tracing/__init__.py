"""Tracing: spans of calls, propagation in metadata, headers and rows, and export."""

from classifeed_common.telemetry.tracing.calls import CallSpan, client_span, start_server_span
from classifeed_common.telemetry.tracing.carrying import (
    context_of,
    describe_span,
    entered,
    is_traced,
    kept_trace,
    trace_ids,
    traceparent_of,
    unrecorded,
    untraced,
)
from classifeed_common.telemetry.tracing.exporters import TracingSettingsError
from classifeed_common.telemetry.tracing.queue_spans import queue_spans
from classifeed_common.telemetry.tracing.sampling import is_sampled
from classifeed_common.telemetry.tracing.setup import Tracing, configure_tracing

__all__ = [
    "CallSpan",
    "Tracing",
    "TracingSettingsError",
    "client_span",
    "configure_tracing",
    "context_of",
    "describe_span",
    "entered",
    "is_sampled",
    "is_traced",
    "kept_trace",
    "queue_spans",
    "start_server_span",
    "trace_ids",
    "traceparent_of",
    "unrecorded",
    "untraced",
]
