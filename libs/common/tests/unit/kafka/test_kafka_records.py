"""Headers of messages: type and trace, in both directions."""

from __future__ import annotations

from google.protobuf.wrappers_pb2 import StringValue
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from classifeed_common.kafka import Message, Record, message_of, trace_context, type_of
from classifeed_common.kafka.records import headers_of


def as_read(message: Message) -> Record:
    return Record(message.topic, 0, 0, message.key, message.value, message.headers, 0)


def test_the_type_is_the_full_name_of_the_protobuf_message() -> None:
    message = message_of("t", b"k", StringValue(value="x"), partition=3)
    assert (message.topic, message.key, message.partition) == ("t", b"k", 3)
    assert message.headers == {"type": b"google.protobuf.StringValue"}
    assert type_of(as_read(message)) == "google.protobuf.StringValue"
    assert StringValue.FromString(message.value).value == "x"


def test_a_record_without_a_type_has_an_empty_one() -> None:
    assert type_of(as_read(Message("t", None, b""))) == ""


def test_the_trace_goes_through_the_headers() -> None:
    tracer = TracerProvider().get_tracer("test")
    with tracer.start_as_current_span("sender") as span:
        message = message_of("t", b"k", StringValue())
        sent = span.get_span_context()
    received = trace.get_current_span(trace_context(as_read(message))).get_span_context()
    assert received.is_remote
    assert (received.trace_id, received.span_id) == (sent.trace_id, sent.span_id)


def test_a_record_outside_any_trace_has_none_even_when_its_reader_is_in_one() -> None:
    record = as_read(message_of("t", b"k", StringValue()))
    with TracerProvider().get_tracer("test").start_as_current_span("reader"):
        assert not trace.get_current_span(trace_context(record)).get_span_context().is_valid


@given(st.binary(max_size=80))
def test_a_broken_trace_header_is_no_trace(junk: bytes) -> None:
    record = as_read(Message("t", None, b"", {"traceparent": junk, "tracestate": junk}))
    assert trace.get_current_span(trace_context(record)) is not None


def test_headers_without_a_value_and_repeated_ones() -> None:
    assert headers_of(None) == {}
    assert headers_of([("a", None), ("b", b"1"), ("b", b"2")]) == {"a": b"", "b": b"2"}


def test_the_size_covers_key_value_and_headers() -> None:
    assert Message("t", b"12", b"345", {"67": b"89"}).size_bytes >= 9
