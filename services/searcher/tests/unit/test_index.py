"""The embedded engine: Russian and English words, exact values, ranges, types."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from classifeed.documents.v1 import document_pb2, index_document_pb2, schema_pb2
from classifeed_searcher.domain.query import QueryError
from classifeed_searcher.domain.query_text import parse_query
from classifeed_searcher.engine.fields import WrongValue
from classifeed_searcher.engine.index import LockedIndex, TantivyIndex


def schema() -> schema_pb2.Schema:
    made = schema_pb2.Schema(client="offers", epoch=1)
    made.fields.add(name="title", type="FIELD_TYPE_TEXT", indexed=True, stored=True, analyzer="ANALYZER_RU_EN", boost=3)
    made.fields.add(name="external_id", type="FIELD_TYPE_STRING", indexed=True, stored=True, boost=2)
    made.fields.add(name="price", type="FIELD_TYPE_DOUBLE", indexed=True, stored=True, sortable=True)
    made.fields.add(name="available", type="FIELD_TYPE_BOOL", indexed=True)
    made.fields.add(name="location", type="FIELD_TYPE_GEO_POINT", indexed=True)
    return made


def document(pk: str, title: str, price: float, *, version: int = 1) -> index_document_pb2.IndexDocument:
    made = index_document_pb2.IndexDocument(
        client="offers", epoch=1, pk=pk, version=version, action=document_pb2.DOCUMENT_ACTION_UPSERT
    )
    made.fields.add(name="title").values.add(string_value=title)
    made.fields.add(name="external_id").values.add(string_value=pk)
    made.fields.add(name="price").values.add(double_value=price)
    made.fields.add(name="available").values.add(bool_value=True)
    made.fields.add(name="location").values.add().geo_value.latitude = 55.7
    return made


@pytest.fixture
def index(tmp_path: Path) -> Iterator[TantivyIndex]:
    made = TantivyIndex(tmp_path / "1", schema())
    made.apply(document("A-1", "Диван угловой кожаный", 100))
    made.apply(document("B-2", "Картридж HP CE285A чёрный", 50))
    made.apply(document("C-3", "Running shoes Nike", 70))
    made.commit()
    yield made
    made.close()


def find(index: TantivyIndex, text: str, *, sort: str = "") -> list[str]:
    node = parse_query(text, frozenset(index.fields))
    found = index.search(node, [], sort_field=sort, descending=True, offset=0, limit=10)
    assert found.total == len(found.hits)
    return [hit.pk for hit in found.hits]


@pytest.mark.parametrize(
    ("text", "pks"),
    [
        ("дивана", ["A-1"]),
        ("угловые диваны", ["A-1"]),
        ("картриджи", ["B-2"]),
        ("чёрного", ["B-2"]),
        ("черный", ["B-2"]),
        ("shoe", ["C-3"]),
        ('"диван угловой"', ["A-1"]),
        ('"угловой диван"', []),
        ("картр*", ["B-2"]),
        ("диваны*", ["A-1"]),
        ("CE285A", ["B-2"]),
        ("C-3", ["C-3"]),
        ("external_id:A-1", ["A-1"]),
        ("external_id:a-1", []),
        ("price:[60 TO 80]", ["C-3"]),
        ("price:[* TO 60] OR shoes", ["C-3", "B-2"]),
        ("кожаный -диван", []),
        ("available:true shoes", ["C-3"]),
    ],
)
def test_query_finds(index: TantivyIndex, text: str, pks: list[str]) -> None:
    assert sorted(find(index, text)) == sorted(pks)


def test_sort_by_a_field(index: TantivyIndex) -> None:
    assert find(index, "", sort="price") == ["A-1", "C-3", "B-2"]


def test_upsert_replaces_and_delete_removes(index: TantivyIndex) -> None:
    index.apply(document("A-1", "Кресло", 30, version=2))
    gone = index_document_pb2.IndexDocument(client="offers", epoch=1, pk="C-3", version=2)
    gone.action = document_pb2.DOCUMENT_ACTION_DELETE
    index.apply(gone)
    assert find(index, "диван") == ["A-1"], "nothing is seen before the commit"
    index.commit()
    assert (find(index, "диван"), find(index, "кресла"), find(index, "shoes")) == ([], ["A-1"], [])
    hit = index.get("A-1")
    assert hit is not None
    assert hit.version == 2
    assert index.get("C-3") is None


def test_document_says_when_it_was_composed_and_when_it_was_taken_in(index: TantivyIndex) -> None:
    before = datetime.now(UTC)
    fresh = document("A-1", "Кресло", 30, version=2)
    fresh.timestamp.FromDatetime(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))
    index.apply(fresh)
    index.commit()
    hit, undated = index.get("A-1"), index.get("B-2")
    assert hit is not None
    assert undated is not None
    assert hit.compose_time == fresh.timestamp
    assert before <= hit.index_time.ToDatetime(tzinfo=UTC) <= datetime.now(UTC)
    assert not undated.HasField("compose_time")


def test_wrong_type_is_refused_and_the_writer_lives(index: TantivyIndex) -> None:
    broken = document("D-4", "Стол", 10)
    broken.fields[2].values[0].string_value = "дёшево"
    with pytest.raises(WrongValue, match="price"):
        index.apply(broken)
    index.apply(document("E-5", "Стол", 10))
    index.commit()
    assert find(index, "столы") == ["E-5"]


@pytest.mark.parametrize("text", ["price:cheap", "available:maybe", "price:[a TO b]", "price:5*"])
def test_value_of_the_wrong_type_in_a_query_is_placed(index: TantivyIndex, text: str) -> None:
    with pytest.raises(QueryError) as caught:
        find(index, text)
    assert caught.value.position > 1


def test_second_writer_is_refused(index: TantivyIndex, tmp_path: Path) -> None:
    with pytest.raises(LockedIndex):
        TantivyIndex(tmp_path / "1", schema())


def test_index_outlives_its_process(tmp_path: Path) -> None:
    first = TantivyIndex(tmp_path / "1", schema())
    first.apply(document("A-1", "Диван", 1))
    first.commit()
    first.apply(document("B-2", "Диван", 1))
    first.close()
    again = TantivyIndex(tmp_path / "1", schema())
    assert find(again, "диван") == ["A-1"]
    again.close()
