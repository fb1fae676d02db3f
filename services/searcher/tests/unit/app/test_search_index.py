"""Every operator on every kind of field returns hits or INVALID_ARGUMENT with the position, never an internal fault."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_UPSERT, Value
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.schema_pb2 import FIELD_TYPE_UNSPECIFIED, FieldType, Schema
from classifeed.search.v1.search_service_pb2 import Filter, SearchRequest, SearchResponse, Sort
from classifeed_common.errors import InvalidArgument
from classifeed_searcher.app.search_index import search_index
from classifeed_searcher.engine.index import TantivyIndex

VALUES: Final = {
    "text": Value(string_value="угловой диван"),
    "string": Value(string_value="north"),
    "int": Value(int_value=3),
    "double": Value(double_value=3.5),
    "bool": Value(bool_value=True),
    "timestamp": Value(timestamp_value={"seconds": 1_764_000_000}),
    "geo_point": Value(geo_value={"latitude": 55.75, "longitude": 37.6}),
}
KINDS: Final = [FieldType.Name(kind).removeprefix("FIELD_TYPE_").lower() for kind in FieldType.values() if kind]
# A value of each kind, and the limits of each kind.
TEXTS: Final = (
    "диван", "north", "3", "-3", "3.5", "55.7", "55.7,37.6", "true", "2026-01-02", "2026-01-02T03:04:05Z",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 400, "1e308", "1e309", "nan", "inf",
    "-inf", "0001-01-01", "9999-12-31T23:59:59Z", "2300-01-01", "1600-01-01", "*", "**", "д*", "?", "&", "\\", ".*",
    "a|b", "𝟛", "٣",
)  # fmt: skip
FORMS: Final = (
    "{0}",
    "{0}*",
    '"{0}"',
    "[{0} TO *]",
    "[* TO {0}]",
    "[{0} TO {0}]",
    "[* TO *]",
    "({0} OR {0})",
    "(-{0})",
)
EXTREMES: Final = (
    Value(),
    Value(string_value=""),
    Value(int_value=2**63 - 1),
    Value(int_value=-(2**63)),
    Value(double_value=float("nan")),
    Value(double_value=float("inf")),
    Value(timestamp_value={"seconds": 253_402_300_799}),
    Value(timestamp_value={"seconds": 253_402_300_800}),
    Value(timestamp_value={"seconds": -62_135_596_800}),
    Value(timestamp_value={"seconds": -(2**62)}),
    Value(geo_value={"latitude": 1e308, "longitude": float("nan")}),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyIndex]:
    """Yield an index with a field of each kind, named after the kind, and two documents."""
    schema = Schema(client="offers", epoch=1)
    for kind in KINDS:
        schema.fields.add(name=kind, type=f"FIELD_TYPE_{kind.upper()}", indexed=True, sortable=True, facet=True)
    made = TantivyIndex(tmp_path_factory.mktemp("index") / "index", schema)
    document = IndexDocument(pk="a", version=1, action=DOCUMENT_ACTION_UPSERT)
    for kind, value in VALUES.items():
        document.fields.add(name=kind).values.append(value)
    assert made.apply([document, IndexDocument(pk="b", version=1, action=DOCUMENT_ACTION_UPSERT)]) == {}
    made.commit()
    yield made
    made.close()


def search(index: TantivyIndex, request: SearchRequest) -> SearchResponse | InvalidArgument:
    request.client = "offers"
    try:
        return SearchResponse.FromString(search_index(index, request))
    except InvalidArgument as error:
        return error


def test_every_kind_of_field_has_its_value_here() -> None:
    assert set(KINDS) == VALUES.keys()
    assert FIELD_TYPE_UNSPECIFIED == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_query_that_does_not_fit_its_field_is_refused_with_its_position(index: TantivyIndex, kind: str) -> None:
    for form, text in itertools.product(FORMS, TEXTS):
        condition = f"{kind}:{form.format(text)}"
        found = search(index, SearchRequest(query=f"диван {condition}"))
        if isinstance(found, InvalidArgument):
            assert found.reason == "QUERY_INVALID", condition
            assert int(found.metadata["position"]) >= len("диван ") + 1, condition
        found = search(index, SearchRequest(conditions=[condition]))
        if isinstance(found, InvalidArgument):
            assert [violation.field for violation in found.violations] == ["conditions[0]"], condition


@pytest.mark.parametrize("kind", KINDS)
def test_a_filter_that_does_not_fit_its_field_is_refused_by_its_place(index: TantivyIndex, kind: str) -> None:
    values = (*VALUES.values(), *EXTREMES)
    filters = [Filter(field=kind), Filter(field=kind, terms={}), Filter(field=kind, range={})]
    for value in values:
        filters.append(Filter(field=kind, terms={"values": [value]}))
        filters += [Filter(field=kind, range=bounds) for bounds in ({"from": value}, {"to": value})]
        filters.append(Filter(field=kind, range={"from": value, "to": VALUES[kind]}))
    for each in filters:
        found = search(index, SearchRequest(filters=[each]))
        if isinstance(found, InvalidArgument):
            assert found.reason == "SEARCH_INVALID", each
            assert found.violations[0].field == "filters[0]", each


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("descending", [False, True])
def test_a_sort_that_does_not_fit_its_field_is_refused(index: TantivyIndex, kind: str, descending: bool) -> None:
    found = search(index, SearchRequest(sort=Sort(field=kind, descending=descending)))
    if isinstance(found, InvalidArgument):
        assert found.violations[0].field == "sort.field"
    else:
        assert found.total == 2


@pytest.mark.parametrize("condition", ["geo_point:55.7", "geo_point:*", 'geo_point:"55.7"', "geo_point:[1 TO 2]"])
def test_a_point_is_not_searched_by_values(index: TantivyIndex, condition: str) -> None:
    found = search(index, SearchRequest(query=condition))
    assert isinstance(found, InvalidArgument)
    assert found.message.startswith("The query cannot be read at character 11: geo_point ")
    assert "is a point" in found.message or "has no order" in found.message


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, value in VALUES.items() if kind not in {"text", "geo_point"}]
)
def test_a_value_that_fits_is_found(index: TantivyIndex, kind: str, value: Value) -> None:
    found = search(index, SearchRequest(filters=[Filter(field=kind, terms={"values": [value]})]))
    assert isinstance(found, SearchResponse)
    assert [hit.pk for hit in found.hits] == ["a"]


def test_a_page_ends_before_it_is_too_large_and_the_next_one_continues(tmp_path: Path) -> None:
    """A page of large documents would fill the memory and exceed a message, and the searcher would end."""
    schema = Schema(client="offers", epoch=1)
    schema.fields.add(name="text", type="FIELD_TYPE_TEXT", stored=True)
    index = TantivyIndex(tmp_path / "index", schema)
    for number in range(7):
        document = IndexDocument(pk=str(number), version=1, action=DOCUMENT_ACTION_UPSERT)
        document.fields.add(name="text").values.add(string_value="x" * (9_000_000 if number == 6 else 3_000_000))
        assert index.apply([document]) == {}
    index.commit()
    pages: list[list[str]] = []
    token = ""
    while not pages or token:
        found = search(index, SearchRequest(page_size=1000, page_token=token))
        assert isinstance(found, SearchResponse)
        assert found.total == 7
        pages.append([hit.pk for hit in found.hits])
        token = found.next_page_token
    assert [len(page) for page in pages] == [2, 2, 2, 1]
    assert sorted(pk for page in pages for pk in page) == [str(number) for number in range(7)]
    index.close()


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        (SearchRequest(query="a " * 900, conditions=["b " * 900, "c " * 201]), "2,001 words and values and 0 prefixes"),
        (SearchRequest(query='"' + "a " * 900 + '"', conditions=["b-" * 900, "int:[1 TO 2] " * 100]), "2,200 words"),
        (SearchRequest(filters=[Filter(field="int", terms={"values": [VALUES["int"]] * 667})] * 3), "2,001 words"),
        (SearchRequest(query="a* " * 9, conditions=["b* " * 8]), "17 words and values and 17 prefixes"),
        (SearchRequest(query="к-ван* " * 16 + "a-*"), "17 prefixes"),
    ],
)
def test_a_search_that_would_take_too_long_is_refused_before_it_begins(
    index: TantivyIndex, request_: SearchRequest, count: str
) -> None:
    """Nothing could end it, and it would hold up the other searches."""
    found = search(index, request_)
    assert isinstance(found, InvalidArgument)
    assert (found.reason, found.violations[0].field) == ("SEARCH_INVALID", "query")
    assert count in found.message


def test_the_largest_search_is_made(index: TantivyIndex) -> None:
    words = SearchRequest(query="диван " * 333, conditions=["угловой " * 250] * 6 + ["a* OR д* " * 8 + "диван " * 143])
    assert isinstance(search(index, words), SearchResponse)
    with_open_ends = SearchRequest(query="диван", conditions=["int:[* TO 5] " * 30])
    assert isinstance(search(index, with_open_ends), SearchResponse), "* without a word is no prefix"
