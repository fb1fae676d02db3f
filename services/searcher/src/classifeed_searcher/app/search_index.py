"""Search one index; used in the service process and in search processes."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import tantivy

from classifeed.documents.v1 import schema_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.paging import read_page_values, write_page_values
from classifeed_domain.document_bodies import native_value
from classifeed_searcher.app.suggest_query import suggest_query
from classifeed_searcher.domain.query import Between, Node, QueryError
from classifeed_searcher.domain.query_text import parse_query
from classifeed_searcher.engine.fields import WrongValue
from classifeed_searcher.engine.index import IndexReader, Ranked
from classifeed_searcher.engine.stored_hits import encode_response

_DEFAULT_PAGE: Final = 20
# The engine keeps all better hits in memory for a deep page. Further down, a filter helps the user more than pages.
_DEEPEST_HIT: Final = 10_000
# A search of so few postings takes about a millisecond, much of it with the interpreter's lock held; so does reading so
# many hits. With other searches running, passing it to a thread would cost the same time again.
_SHORT_POSTINGS: Final = 100_000
_SHORT_PAGE: Final = 50
# A range is checked block by block for documents that have the words; in the worst case for all documents.
_SHORT_RANGE_DOCUMENTS: Final = 500_000
# The engine has no sortable column for these types, even if the schema says `sortable`.
_UNSORTABLE: Final = {schema_pb2.FIELD_TYPE_TEXT, schema_pb2.FIELD_TYPE_GEO_POINT}


@dataclass(frozen=True, slots=True)
class PreparedSearch:
    """A valid search that has not begun.

    Attributes:
        is_short: whether it takes about a millisecond, for any number of documents.
        run: function that returns a serialized SearchResponse, or raises InvalidArgument if the query is too large.
            Blocks.
    """

    is_short: bool
    run: Callable[[], bytes]


def prepare_search(index: IndexReader, request: search_service_pb2.SearchRequest) -> PreparedSearch:
    """Return a search of an index.

    Raises:
        InvalidArgument: the query, a filter, the sort or the page token is invalid; the message has the position.
    """
    fingerprint = _fingerprint(request)
    offset = _offset_of(request, fingerprint)
    limit = request.page_size or _DEFAULT_PAGE
    filters = [_filter_query(index, each, at) for at, each in enumerate(request.filters)]
    conditions = [_read_condition(index, text, f"conditions[{at}]") for at, text in enumerate(request.conditions)]
    filters += [query for _, query in conditions]
    sort_field = _sort_field(index, request.sort.field)
    try:
        node = parse_query(request.query, frozenset(index.fields))
        query = index.prepare(node, filters)
    except QueryError as error:
        raise _unreadable("query", request.query, error) from error
    rank = partial(
        index.rank, query, sort_field=sort_field, descending=request.sort.descending, offset=offset, limit=limit
    )

    def run() -> bytes:
        try:
            ranked: Ranked = rank()
        except QueryError as error:
            raise _unreadable("query", request.query, error) from error
        rest = search_service_pb2.SearchResponse(total=ranked.total)
        if not ranked.total and (hint := suggest_query(index, request.query, filters)):
            rest.hint.CopyFrom(hint)
        if offset + limit < min(ranked.total, _DEEPEST_HIT):
            rest.next_page_token = write_page_values(offset + limit, fingerprint)
        show = partial(index.stored_hits.encode, is_body=request.bodies)
        return encode_response([show(content, score) for score, content in ranked.read()], rest)

    is_quick = limit <= _SHORT_PAGE and is_short(index, node, request.filters, [each for each, _ in conditions])
    return PreparedSearch(is_quick, run)


def is_short(
    index: IndexReader,
    node: Node,
    filters: Sequence[search_service_pb2.Filter] = (),
    conditions: Sequence[Node] = (),
) -> bool:
    """Return whether the engine takes about a millisecond, for any number of documents.

    Filters of one term, and ranges over not too many documents, are only checked for documents that have the words.
    Other filters read all their own postings.
    """
    terms = [each.terms for each in filters if each.WhichOneof("condition") == "terms"]
    if any(len(each.values) != 1 for each in terms) or not all(isinstance(each, Between) for each in conditions):
        return False
    has_range = bool(conditions) or len(terms) < len(filters)
    if has_range and index.documents > _SHORT_RANGE_DOCUMENTS:
        return False
    postings = index.postings(node)
    return postings is not None and postings <= _SHORT_POSTINGS


def _read_condition(index: IndexReader, text: str, field: str) -> tuple[Node, tantivy.Query]:
    try:
        node = parse_query(text, frozenset(index.fields))
        return node, index.translator.translate(node)
    except QueryError as error:
        raise _unreadable(field, text, error) from error


def _unreadable(field: str, text: str, error: QueryError) -> InvalidArgument:
    what = "query" if field == "query" else f"condition {text!r}"
    where = f" at character {error.position}" if error.position else ""
    return InvalidArgument(
        "QUERY_INVALID",
        f"The {what} cannot be read{where}: {error}.",
        metadata={"position": str(error.position)},
        violations=[FieldViolation(field, str(error))],
    )


def _filter_query(index: IndexReader, each: search_service_pb2.Filter, at: int) -> tantivy.Query:
    field = index.fields.get(each.field)
    if field is None:
        raise _wrong(f"filters[{at}].field", f"{each.field} is not searched; there are: {', '.join(index.fields)}")
    try:
        if each.WhichOneof("condition") == "terms":
            terms = [index.translator.term(field.name, native_value(value)) for value in each.terms.values]
            return tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        bounds: list[Any] = [
            native_value(bound) if present else None
            for bound, present in (
                (getattr(each.range, "from"), each.range.HasField("from")),
                (each.range.to, each.range.HasField("to")),
            )
        ]
        return index.translator.range(field, *bounds)
    except (WrongValue, ValueError, TypeError, OverflowError) as error:
        raise _wrong(f"filters[{at}]", str(error)) from error


def _sort_field(index: IndexReader, name: str) -> str:
    sortable = {each.name for each in index.fields.values() if each.sortable and each.type not in _UNSORTABLE}
    if name and name not in sortable:
        raise _wrong("sort.field", f"hits cannot be sorted by {name}; they can by: {', '.join(sorted(sortable))}")
    return name


def _wrong(field: str, message: str) -> InvalidArgument:
    return InvalidArgument("SEARCH_INVALID", f"{field}: {message}.", violations=[FieldViolation(field, message)])


def _fingerprint(request: search_service_pb2.SearchRequest) -> str:
    same = search_service_pb2.SearchRequest()
    same.CopyFrom(request)
    for field in ("page_token", "page_size", "at_least"):
        same.ClearField(field)
    return f"{binascii.crc32(same.SerializeToString(deterministic=True)):08x}"


def _offset_of(request: search_service_pb2.SearchRequest, fingerprint: str) -> int:
    offset, found = read_page_values(request.page_token, (0, fingerprint))
    if found != fingerprint or not 0 <= offset < _DEEPEST_HIT:
        raise _wrong("page_token", "must be next_page_token of the same search, or empty")
    return int(offset)
