"""One trace covers an upload up to the index: through jobs, Kafka, tables and the queue of documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from classifeed_common.telemetry.tracing import entered
from tests.e2e.suite import SPANS, Suite

pytestmark = pytest.mark.e2e

_IDS = RandomIdGenerator()
_OFFER = '<offer id="{0}"><name>Диван {0}</name><price>1</price><currencyId>RUB</currencyId><url>https://e.org/{0}</url></offer>'
_RESULTS = "process feeds.offer-results.v1"
# From the index back to the sender, by service and name of the span.
_WAY = [
    ("searcher", "process index.documents.v1.offers"),
    ("indexer", "process offers"),
    ("receiver", "send offers"),
    ("offers", "publish offers"),
    ("offers", "process feeds.offer-requests.v1"),
    ("processor", "job feed.process"),
    ("processor", "classifeed.feeds.v1.TaskService/CreateTask"),
    ("api", "classifeed.feeds.v1.TaskService/CreateTask"),
    ("api", "classifeed.feeds.v1.FeedService/UploadFeed"),
]


def spans_of(suite: Suite, sender: SpanContext) -> dict[str, dict[str, Any]]:
    """Return the finished spans of a trace, by id."""
    trace_id = f"0x{trace.format_trace_id(sender.trace_id)}"
    lines = (suite.data / SPANS).read_text().splitlines()
    spans = [json.loads(line) for line in lines if trace_id in line]
    return {span["context"]["span_id"]: span for span in spans}


def way_to(spans: dict[str, dict[str, Any]], last: dict[str, Any]) -> list[tuple[str, str]]:
    way = []
    span: dict[str, Any] | None = last
    while span is not None:
        way.append((span["resource"]["attributes"]["service.name"], span["name"]))
        span = spans.get(span["parent_id"])
    return way


def test_one_trace_leads_from_the_upload_to_the_index(suite: Suite, seller: str, tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    offers = "".join(_OFFER.format(number) for number in range(150))
    file.write_text(f"<yml_catalog><shop><offers>{offers}</offers></shop></yml_catalog>")
    sender = SpanContext(
        _IDS.generate_trace_id(), _IDS.generate_span_id(), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
    with entered(trace.set_span_in_context(NonRecordingSpan(sender))):
        result = suite.upload(file, seller)
    assert result.exit_code == 0, (result.document, result.stderr)

    sent = f"0x{trace.format_span_id(sender.span_id)}"

    def find(name: str, spans: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
        return next((span for span in spans.values() if span["name"] == name), None)

    def is_whole() -> bool:
        spans = spans_of(suite, sender)
        indexed, answered = find(_WAY[0][1], spans), find(_RESULTS, spans)
        return (
            indexed is not None
            and answered is not None
            and way_to(spans, indexed) == _WAY
            and way_to(spans, answered) == [("processor", _RESULTS), *_WAY[4:]]
            and {span["parent_id"] for span in spans.values()} - spans.keys() == {sent}
        )

    suite.wait(is_whole, 120, "all spans of the trace, each with its parent")
    answered = find(_RESULTS, spans_of(suite, sender))
    assert answered is not None
    about = {name: answered["attributes"][f"classifeed.{name}"] for name in ("seller", "namespace", "task")}
    assert about == {"seller": seller, "namespace": "default", "task": int(result.document["task_id"])}
