"""Spans of messages in queues other than Kafka: our tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind

from classifeed_common.telemetry.tracing.carrying import context_of, is_traced

K = TypeVar("K")

_tracer = trace.get_tracer("classifeed")
_KINDS = {"send": SpanKind.PRODUCER, "process": SpanKind.CONSUMER}


@contextmanager
def queue_spans(
    operation: Literal["send", "process"], queue: str, carried: Mapping[K, str]
) -> Iterator[dict[K, Context]]:
    """Create a span for each message with a trace, for the duration of the block.

    Args:
        operation: operation on the messages.
        queue: name of the queue.
        carried: `traceparent` of each message; unreadable ones are left out.

    Yields:
        The trace context of each message.
    """
    spans: list[trace.Span] = []
    contexts: dict[K, Context] = {}
    for key, traceparent in carried.items():
        if not is_traced(parent := context_of({"traceparent": traceparent})):
            continue
        attributes = {
            "messaging.system": "classifeed",
            "messaging.destination.name": queue,
            "messaging.operation.type": operation,
            "messaging.operation.name": operation,
        }
        span = _tracer.start_span(f"{operation} {queue}", parent, _KINDS[operation], attributes)
        spans.append(span)
        contexts[key] = trace.set_span_in_context(span, parent)
    try:
        yield contexts
    finally:
        for span in spans:
            span.end()
