"""Spans around the records of a consumer: one per trace in an effect, not one per record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode

from classifeed_common.kafka.records import TRACEPARENT_HEADER, Record, trace_context
from classifeed_common.telemetry.tracing import entered, is_traced

_tracer = trace.get_tracer("classifeed_common.kafka")
_handling: ContextVar[Mapping[bytes, Context]] = ContextVar("handled_traces")
_NONE: Final[Mapping[bytes, Context]] = {}
_FLAGS_BYTES: Final = 2


@contextmanager
def processing(group: str, batch: Sequence[Record]) -> Iterator[None]:
    """Create the spans of an effect, each a child of its records' trace.

    If all traced records have one trace, its span is the current one, so that logs and jobs belong to it. Otherwise use
    `trace_of` for each record.
    """
    by_sender: dict[bytes, list[Record]] = {}
    for record in batch:
        if sender := _sender_of(record):
            by_sender.setdefault(sender, []).append(record)
    spans: list[trace.Span] = []
    contexts: dict[bytes, Context] = {}
    for sender, records in by_sender.items():
        parent = trace_context(max(records, key=_flags_of))  # a sampled one, if there is any
        if is_traced(parent):  # skip headers that cannot be read
            spans.append(span := _start(group, records, parent))
            contexts[sender] = trace.set_span_in_context(span, parent)
    token = _handling.set(contexts)
    try:
        with entered(next(iter(contexts.values())) if len(contexts) == 1 else None):
            yield
    except BaseException as error:
        for span in spans:
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
        raise
    finally:
        _handling.reset(token)
        for span in spans:
            span.end()


def trace_of(record: Record) -> Context:
    """Return the trace in which a record is handled; outside an effect, the trace of its sender."""
    found = _handling.get(_NONE).get(_sender_of(record))
    return trace_context(record) if found is None else found


def _sender_of(record: Record) -> bytes:
    """Return trace and span of the sender: the header without its flags."""
    return record.headers.get(TRACEPARENT_HEADER, b"")[:-_FLAGS_BYTES]


def _flags_of(record: Record) -> bytes:
    return record.headers[TRACEPARENT_HEADER][-_FLAGS_BYTES:]


def _start(group: str, records: Sequence[Record], parent: Context) -> trace.Span:
    topic = records[0].topic
    return _tracer.start_span(
        f"process {topic}",
        context=parent,
        kind=SpanKind.CONSUMER,
        attributes={
            "messaging.system": "kafka",
            "messaging.destination.name": topic,
            "messaging.destination.partition.id": str(records[0].partition),
            "messaging.operation.type": "process",
            "messaging.operation.name": "process",
            "messaging.consumer.group.name": group,
            "messaging.batch.message_count": len(records),
            "messaging.kafka.offset": records[0].offset,
        },
    )
