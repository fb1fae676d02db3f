"""Search the documents of a client."""

from __future__ import annotations

import asyncio
import binascii
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import tantivy

from classifeed.documents.v1 import receiver_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_common.errors import FieldViolation, InvalidArgument, Unavailable
from classifeed_common.rpc.paging import read_page_values, write_page_values
from classifeed_domain.document_bodies import native_value
from classifeed_searcher.app.suggest_query import suggest_query
from classifeed_searcher.domain.query import Between, Node, QueryError
from classifeed_searcher.domain.query_text import parse_query
from classifeed_searcher.engine.fields import WrongValue
from classifeed_searcher.engine.index import TantivyIndex
from classifeed_searcher.engine.stored_hits import encode_response
from classifeed_searcher.store.live_index import LiveIndex

_DEFAULT_PAGE = 20
# The engine keeps this many best hits for a deep page; beyond, a filter serves the user better than more pages.
_DEEPEST_HIT = 10_000
_POLL_S = 0.02
# A search of so few entries takes about a millisecond, much of it with the interpreter's lock, and so does reading
# so many hits; to hand it to a thread costs as much again where others search beside it.
_SHORT_POSTINGS = 100_000
_SHORT_PAGE = 50
# A range is checked at what the words have, a block of documents at a time; in the worst case all are.
_SHORT_RANGE_DOCUMENTS = 500_000


class SearchDocuments:
    """Search the current index of a client."""

    def __init__(self, indexes: Mapping[str, LiveIndex], *, at_least_wait_s: float) -> None:
        self._indexes = indexes
        self._wait_s = at_least_wait_s

    async def __call__(self, request: search_service_pb2.SearchRequest) -> bytes:
        """Return a page of hits: a SearchResponse on the wire.

        Raises:
            InvalidArgument: the query, a filter, the sort or the page token cannot be read; it says which and where.
            Unavailable: the index is not whole, or has not come as far as the request requires.
        """
        live = self.index_of(request.client)
        live.require()
        await self._reach(live, request.at_least)
        generation = live.require()
        if generation is None:
            return b""
        index = generation.index
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
            rank = partial(
                index.rank,
                query,
                sort_field=sort_field,
                descending=request.sort.descending,
                offset=offset,
                limit=limit,
            )
            is_quick = is_short(index, node, request.filters, [condition for condition, _ in conditions])
            ranked = rank() if is_quick else await asyncio.to_thread(rank)
        except QueryError as error:
            raise _unreadable("query", request.query, error) from error
        stored = ranked.read() if limit <= _SHORT_PAGE else await asyncio.to_thread(ranked.read)
        show = partial(index.stored_hits.encode, is_body=request.bodies)
        rest = search_service_pb2.SearchResponse(total=ranked.total)
        if not ranked.total and (hint := await asyncio.to_thread(suggest_query, index, request.query, filters)):
            rest.hint.CopyFrom(hint)
        if offset + limit < min(ranked.total, _DEEPEST_HIT):
            rest.next_page_token = write_page_values(offset + limit, fingerprint)
        return encode_response([show(content, score) for score, content in stored], rest)

    def index_of(self, client: str) -> LiveIndex:
        """Return the index of a client.

        Raises:
            InvalidArgument: this searcher indexes no such client, or none is named.
        """
        if client not in self._indexes:
            known = ", ".join(sorted(self._indexes))
            what = f"There is no index of client {client!r}" if client else "The request names no client"
            raise InvalidArgument(
                "CLIENT_UNKNOWN",
                f"{what}: `client` names the documents to search. Set it to one of: {known}.",
                violations=[FieldViolation("client", f"must be one of: {known}")],
            )
        return self._indexes[client]

    async def _reach(self, live: LiveIndex, positions: Sequence[receiver_service_pb2.ShardPosition]) -> None:
        if not positions:
            return
        ends_at = asyncio.get_running_loop().time() + self._wait_s
        while any(live.searchable(position.shard) < position.idx for position in positions):
            if asyncio.get_running_loop().time() > ends_at:
                raise Unavailable(
                    "INDEX_BEHIND",
                    f"The index did not reach `at_least` within {self._wait_s:g} s. Try again.",
                    retry_after_s=1,
                )
            await asyncio.sleep(_POLL_S)


def is_short(
    index: TantivyIndex,
    node: Node,
    filters: Sequence[search_service_pb2.Filter] = (),
    conditions: Sequence[Node] = (),
) -> bool:
    """Return whether the engine takes about a millisecond, however many documents there are.

    Filters of one term, and ranges of not too many documents, are only checked at what the words have; others read
    what they filter by.
    """
    terms = [each.terms for each in filters if each.WhichOneof("condition") == "terms"]
    if any(len(each.values) != 1 for each in terms) or not all(isinstance(each, Between) for each in conditions):
        return False
    has_range = bool(conditions) or len(terms) < len(filters)
    if has_range and index.documents > _SHORT_RANGE_DOCUMENTS:
        return False
    postings = index.postings(node)
    return postings is not None and postings <= _SHORT_POSTINGS


def _read_condition(index: TantivyIndex, text: str, field: str) -> tuple[Node, tantivy.Query]:
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
    except (WrongValue, ValueError, TypeError) as error:
        raise _wrong(f"filters[{at}]", str(error)) from error


def _sort_field(index: TantivyIndex, name: str) -> str:
    if name and (name not in index.fields or not index.fields[name].sortable):
        sortable = ", ".join(sorted(each.name for each in index.fields.values() if each.sortable))
        raise _wrong("sort.field", f"hits cannot be sorted by {name}; they can by: {sortable}")
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
