"""Time until changes are searchable: the documents that are measured, and when they are counted."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from classifeed.documents.v1 import document_pb2, index_queue_service_pb2, schema_pb2
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed_domain.document_bodies import encode_body
from classifeed_domain.offer_names import CHANGE_TIME_FIELD
from classifeed_searcher.domain.change_time import changed_at_s
from classifeed_searcher.store.generation import IndexGeneration

CHANGED_S = 1_790_000_000


def document(client: str, *, changed_s: float, composed_s: float, idx: int = 1, queue: int = 0) -> IndexDocument:
    made = IndexDocument(client=client, epoch=1, pk=f"o{idx}", version=1, fence=1, idx=idx)
    made.action = document_pb2.DOCUMENT_ACTION_UPSERT
    made.queue = queue or index_queue_service_pb2.INDEX_QUEUE_MAIN  # type: ignore[assignment]
    made.timestamp.FromMicroseconds(int(composed_s * 1e6))
    made.fields.add(name=CHANGE_TIME_FIELD).values.add().timestamp_value.FromMicroseconds(int(changed_s * 1e6))
    return made


@pytest.mark.parametrize(("composed_after_s", "is_news"), [(0, True), (3600, True), (3601, False)])
def test_a_document_composed_long_after_the_change_is_no_news(composed_after_s: int, is_news: bool) -> None:
    found = changed_at_s(document("any", changed_s=CHANGED_S + 0.5, composed_s=CHANGED_S + 0.5 + composed_after_s))
    assert found == (CHANGED_S + 0.5 if is_news else None)


def test_a_body_says_the_same() -> None:
    made = document("any", changed_s=0, composed_s=CHANGED_S + 1)
    made.ClearField("fields")
    made.body = encode_body({"title": "t", CHANGE_TIME_FIELD: datetime.fromtimestamp(CHANGED_S + 0.5, UTC)})
    assert changed_at_s(made) == CHANGED_S + 0.5
    made.body = encode_body({CHANGE_TIME_FIELD: "yesterday"})
    assert changed_at_s(made) is None


def test_a_document_without_the_field_says_nothing() -> None:
    assert changed_at_s(IndexDocument(client="any")) is None


def test_changes_are_counted_when_they_can_be_found_each_once(tmp_path: Path) -> None:
    schema = schema_pb2.Schema(client="fresh", epoch=1)
    schema.fields.add(name=CHANGE_TIME_FIELD, type="FIELD_TYPE_TIMESTAMP", indexed=True, stored=True, sortable=True)
    generation = IndexGeneration.create(tmp_path / "one", schema)

    def measured(what: str) -> float:
        name = f"classifeed_time_to_searchable_seconds_{what}"
        return REGISTRY.get_sample_value(name, {"client": "fresh"}) or 0.0

    changed_s = time.time() - 100
    news = document("fresh", changed_s=changed_s, composed_s=changed_s + 1)
    repair = document("fresh", changed_s=changed_s, composed_s=changed_s + 4000, idx=2)
    refill = document(
        "fresh", changed_s=changed_s, composed_s=changed_s, idx=3, queue=index_queue_service_pb2.INDEX_QUEUE_EMERGENCY
    )
    write = generation.open_write()
    for one in (news, repair, refill, news):
        generation.apply(write, [one])
    assert measured("count") == 0, "not before the commit"
    generation.commit(write, {})
    assert measured("count") == 1
    assert 100 <= measured("sum") < 1000
    generation.close()
