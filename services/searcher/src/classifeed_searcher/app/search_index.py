"""Search one index."""

from __future__ import annotations

import binascii
import re
from typing import Any, Final

import tantivy

from classifeed.documents.v1 import schema_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.paging import read_page_values, write_page_values
from classifeed_domain.document_bodies import native_value
from classifeed_searcher.app.suggest_query import suggest_query
from classifeed_searcher.domain.query import QueryError
from classifeed_searcher.domain.query_text import parse_query
from classifeed_searcher.engine.fields import WrongValue
from classifeed_searcher.engine.index import Ranked, TantivyIndex
from classifeed_searcher.engine.stored_hits import encode_response

_DEFAULT_PAGE: Final = 20
# The engine keeps all better hits in memory for a deep page. Further down, a filter helps the user more than pages.
_DEEPEST_HIT: Final = 10_000
# A page ends before its hits are larger, because a response must fit into a message of 16 MB.
_PAGE_BYTES: Final = 8 << 20
# A search cannot be ended once it has begun, so its size is limited: over a million documents the largest one takes
# some seconds.
_MOST_TERMS: Final = 2_000
_MOST_PREFIXES: Final = 16
_WORD: Final = re.compile(r"\w+")
_PREFIX: Final = re.compile(r"[^\s(\[]\*")
# The engine has no sortable column for these types, even if the schema says `sortable`.
_UNSORTABLE: Final = {schema_pb2.FIELD_TYPE_TEXT, schema_pb2.FIELD_TYPE_GEO_POINT}


def search_index(index: TantivyIndex, request: search_service_pb2.SearchRequest) -> bytes:
    """Return a page of hits: a serialized SearchResponse. Blocks.

    A page has fewer hits than requested if they would be larger than 8 MB; its token continues the search.

    Raises:
        InvalidArgument: the query, a filter, the sort or the page token is invalid, or the search is too large; the
            message has the position.
    """
    fingerprint = _fingerprint(request)
    offset = _offset_of(request, fingerprint)
    _check_size(request)
    filters = [_filter_query(index, each, at) for at, each in enumerate(request.filters)]
    filters += [_read_condition(index, text, f"conditions[{at}]") for at, text in enumerate(request.conditions)]
    sort_field = _sort_field(index, request.sort.field)
    try:
        query = index.prepare(parse_query(request.query, frozenset(index.fields)), filters)
        ranked = index.rank(
            query,
            sort_field=sort_field,
            descending=request.sort.descending,
            offset=offset,
            limit=request.page_size or _DEFAULT_PAGE,
        )
    except QueryError as error:
        raise _unreadable("query", request.query, error) from error
    rest = search_service_pb2.SearchResponse(total=ranked.total)
    if not ranked.total and (hint := suggest_query(index, request.query, filters)):
        rest.hint.CopyFrom(hint)
    hits = _read_page(index, ranked, is_body=request.bodies)
    if offset + len(hits) < min(ranked.total, _DEEPEST_HIT):
        rest.next_page_token = write_page_values(offset + len(hits), fingerprint)
    return encode_response(hits, rest)


def _check_size(request: search_service_pb2.SearchRequest) -> None:
    texts = [request.query, *request.conditions]
    terms = sum(len(_WORD.findall(text)) for text in texts) + sum(len(each.terms.values) for each in request.filters)
    prefixes = sum(len(_PREFIX.findall(text)) for text in texts)
    if terms > _MOST_TERMS or prefixes > _MOST_PREFIXES:
        raise _wrong(
            "query",
            f"with its conditions and filters it has {terms:,} words and values and {prefixes} prefixes (ikea*), but "
            f"may have {_MOST_TERMS:,} and {_MOST_PREFIXES}; search for fewer",
        )


def _read_page(index: TantivyIndex, ranked: Ranked, *, is_body: bool) -> list[bytes]:
    hits: list[bytes] = []
    left_bytes = _PAGE_BYTES
    for score, content in ranked.read():
        hits.append(index.stored_hits.encode(content, score, is_body=is_body))
        left_bytes -= len(hits[-1])
        if left_bytes < 0 and len(hits) > 1:
            return hits[:-1]
    return hits


def _read_condition(index: TantivyIndex, text: str, field: str) -> tantivy.Query:
    try:
        return index.translator.translate(parse_query(text, frozenset(index.fields)))
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


def _filter_query(index: TantivyIndex, each: search_service_pb2.Filter, at: int) -> tantivy.Query:
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


def _sort_field(index: TantivyIndex, name: str) -> str:
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
