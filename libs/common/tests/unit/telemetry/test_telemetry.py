"""Sampling of parts, exporters, and propagation of traces."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs

from classifeed_common.telemetry.tracing import (
    TracingSettingsError,
    context_of,
    entered,
    is_sampled,
    is_traced,
    kept_trace,
    trace_ids,
    traceparent_of,
    unrecorded,
    untraced,
)
from classifeed_common.telemetry.tracing.exporters import ReportedExporter, make_exporters

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_larger_a_load_the_fewer_of_its_pieces_get_spans() -> None:
    assert [number for number in range(1, 301) if is_sampled(number)] == [*range(1, 11), *range(20, 101, 10), 200, 300]
    assert sum(map(is_sampled, range(1, 10_001))) == 37


def test_a_kept_trace_is_entered_again() -> None:
    with entered(context_of({"traceparent": TRACEPARENT, "tracestate": "a=1"})):
        kept = kept_trace()
        assert trace_ids() == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    assert kept == {"traceparent": TRACEPARENT, "tracestate": "a=1"}
    assert trace_ids() is None
    for nothing in (None, {}, {"traceparent": "junk"}):
        assert not is_traced(context_of(nothing))


def test_rows_and_headers_keep_their_form_whatever_the_propagators_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(propagate, "inject", lambda *_: None)
    monkeypatch.setattr(propagate, "extract", lambda *_: Context())
    with entered(context_of({"traceparent": TRACEPARENT})):
        assert kept_trace() == {"traceparent": TRACEPARENT}


def test_what_is_unrecorded_stays_in_its_trace() -> None:
    tracer = TracerProvider().get_tracer("test")
    parent = unrecorded(context_of({"traceparent": TRACEPARENT}))
    assert traceparent_of(parent) == TRACEPARENT[:-2] + "00"
    with tracer.start_as_current_span("below", context=parent) as span:
        assert not span.is_recording()
        assert trace_ids() is not None
        assert trace_ids()[0] == TRACEPARENT[3:35]  # type: ignore[index]


def test_what_is_untraced_records_nothing_on_either_side() -> None:
    tracer = TracerProvider().get_tracer("test")
    with untraced():
        assert not tracer.start_span("call").is_recording()
        assert kept_trace()["traceparent"].endswith("-00")


@pytest.mark.parametrize(
    ("variables", "exporters"),
    [
        ({}, 0),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317"}, 0),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4317"}, 1),
        ({"OTEL_TRACES_EXPORTER": "otlp, console"}, 2),
    ],
)
def test_the_exporters_are_those_that_the_variables_name(variables: dict[str, str], exporters: int) -> None:
    made = make_exporters(variables)
    for exporter in made:
        exporter.shutdown()
    assert len(made) == exporters


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_TRACES_EXPORTER": "zipkin"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "pigeon"},
    ],
)
def test_what_is_not_installed_is_refused_in_words(variables: dict[str, str]) -> None:
    with pytest.raises(TracingSettingsError, match="OTEL_EXPORTER_OTLP_PROTOCOL=grpc"):
        make_exporters(variables)


class Failing(InMemorySpanExporter):
    def __init__(self) -> None:
        super().__init__()
        self.outcomes = [SpanExportResult.FAILURE, SpanExportResult.FAILURE, SpanExportResult.SUCCESS]

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self.outcomes.pop(0)


def test_a_fault_of_an_exporter_is_reported_once_and_so_is_its_end() -> None:
    exporter = ReportedExporter("otlp", Failing())
    with capture_logs() as lines:
        for _ in range(3):
            exporter.export([trace.INVALID_SPAN])  # type: ignore[list-item]
    assert [(line["event"], line.get("dropped_spans")) for line in lines] == [
        ("telemetry.export.failed", None),
        ("telemetry.export.restored", 2),
    ]
