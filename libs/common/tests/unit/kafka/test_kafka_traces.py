"""Spans around records: one per trace of an effect, and which of them is current."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from classifeed_common.kafka import Record, trace_of, traces
from classifeed_common.kafka.traces import processing
from classifeed_common.telemetry.tracing import is_traced, trace_ids

ONE, OTHER = "1" * 32, "2" * 32
PARENT = "b7ad6b7169203331"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(traces, "_tracer", provider.get_tracer("test"))
    yield exporter
    provider.shutdown()


def sent_in(trace_id: str | None, flags: str = "01") -> Record:
    headers = {} if trace_id is None else {"traceparent": f"00-{trace_id}-{PARENT}-{flags}".encode()}
    return Record("t", 3, 7, b"k", b"", headers, 0)


def of(span: ReadableSpan) -> tuple[str, int]:
    assert span.context is not None
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == PARENT
    return f"{span.context.trace_id:032x}", span.attributes["messaging.batch.message_count"]  # type: ignore[index,return-value]


def test_records_of_one_trace_have_one_span_which_is_current(spans: InMemorySpanExporter) -> None:
    records = [sent_in(ONE), sent_in(None), sent_in(ONE)]
    with processing("g", records):
        ids = trace_ids()
        assert ids is not None
        assert ids[0] == ONE
        assert ids[1] != PARENT
        assert not is_traced(trace_of(records[1]))
    assert trace_ids() is None
    [span] = spans.get_finished_spans()
    assert of(span) == (ONE, 2)
    assert (span.name, span.kind) == ("process t", trace.SpanKind.CONSUMER)
    expected = {
        "messaging.system": "kafka",
        "messaging.destination.name": "t",
        "messaging.operation.type": "process",
        "messaging.consumer.group.name": "g",
    }
    assert expected.items() <= dict(span.attributes or {}).items()


def test_of_several_traces_none_is_current_and_each_record_has_its_own(spans: InMemorySpanExporter) -> None:
    records = [sent_in(ONE), sent_in(OTHER)]
    with processing("g", records):
        assert trace_ids() is None
        found = [trace.get_current_span(trace_of(record)).get_span_context() for record in records]
    assert [f"{context.trace_id:032x}" for context in found] == [ONE, OTHER]
    finished = {span.context.span_id for span in spans.get_finished_spans()}
    assert finished == {context.span_id for context in found}


def test_a_sampled_record_has_those_of_its_sender_recorded_with_it(spans: InMemorySpanExporter) -> None:
    with processing("g", [sent_in(ONE, "00"), sent_in(ONE, "01"), sent_in(OTHER, "00")]):
        pass
    assert [of(span) for span in spans.get_finished_spans()] == [(ONE, 2)]


def test_a_failed_effect_shows(spans: InMemorySpanExporter) -> None:
    with pytest.raises(RuntimeError), processing("g", [sent_in(ONE)]):
        raise RuntimeError("no")
    [span] = spans.get_finished_spans()
    assert (span.status.status_code, span.status.description) == (trace.StatusCode.ERROR, "RuntimeError")


@pytest.mark.parametrize("header", [b"", b"junk", b"\xff" * 55, b"00-0-0-01"])
def test_a_header_that_nobody_can_read_is_no_trace(spans: InMemorySpanExporter, header: bytes) -> None:
    with processing("g", [Record("t", 0, 0, None, b"", {"traceparent": header}, 0)]):
        assert trace_ids() is None
    assert spans.get_finished_spans() == ()


def test_outside_an_effect_a_record_is_in_the_trace_of_its_sender() -> None:
    context = trace.get_current_span(trace_of(sent_in(ONE))).get_span_context()
    assert (f"{context.trace_id:032x}", f"{context.span_id:016x}") == (ONE, PARENT)
