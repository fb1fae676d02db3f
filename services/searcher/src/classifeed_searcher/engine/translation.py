"""Translation of query trees to queries of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import tantivy

from classifeed.documents.v1 import schema_pb2
from classifeed_searcher.domain.query import (
    AllOf,
    AnyOf,
    Between,
    Everything,
    Node,
    NoneOf,
    Phrase,
    Prefix,
    QueryError,
    Word,
    has_word,
)
from classifeed_searcher.engine.fields import WrongValue, read_bound
from classifeed_searcher.engine.spelling import spellings
from classifeed_searcher.engine.text_queries import ALONE, Beside, TextQueries, either, escape

_RANGE_TYPES = {
    schema_pb2.FIELD_TYPE_INT: tantivy.FieldType.Integer,
    schema_pb2.FIELD_TYPE_DOUBLE: tantivy.FieldType.Float,
    schema_pb2.FIELD_TYPE_TIMESTAMP: tantivy.FieldType.Date,
}
_WITH_COLUMN = {*_RANGE_TYPES, schema_pb2.FIELD_TYPE_BOOL}
# A document with the word in several fields ranks above one with it in one field, but the scores are not summed.
_TIE_BREAKER = 0.1


class Translator:
    """Translates trees for one index."""

    def __init__(
        self,
        schema: schema_pb2.Schema,
        index_schema: tantivy.Schema,
        analyzers: dict[str, tantivy.TextAnalyzer],
        frequency: Callable[[str, str], int],
    ) -> None:
        self._index_schema = index_schema
        self._texts = TextQueries(index_schema, analyzers, frequency)
        self.fields = {field.name: field for field in schema.fields if field.indexed}
        # TEXT fields are searched by default, STRING fields only if they have a weight.
        self._default = [
            field
            for field in self.fields.values()
            if field.type == schema_pb2.FIELD_TYPE_TEXT
            or (field.type == schema_pb2.FIELD_TYPE_STRING and field.boost > 0)
        ]

    def translate(self, node: Node) -> tantivy.Query:
        """Return the engine's query. Parts without a word, such as a lone `&`, are ignored; if no part is left,
        everything matches.

        Raises:
            QueryError: a field does not support its part of the query; the error has the position.
        """
        query = self._translate(node)
        return tantivy.Query.all_query() if query is None else query

    def translate_part(self, parts: Sequence[Node], at: int) -> tantivy.Query:
        """Return the engine's query for one of several parts, in the context of the others: `540` of `TK 540 M` also
        matches in `TK540M`.

        Raises:
            QueryError: as `translate`.
        """
        query = self._part(parts, at)
        return tantivy.Query.all_query() if query is None else query

    def _translate(self, node: Node) -> tantivy.Query | None:
        match node:
            case Everything():
                return None
            case AllOf(parts):
                return self._all_of(parts)
            case AnyOf(parts):
                return self._any_of(parts)
            case NoneOf():
                return self._all_of((node,))
            case Between():
                return self._between(node)
            case Word() | Phrase():
                return self._over_fields(node, self._text)
            case Prefix():
                return self._over_fields(node, self._prefix)

    def term(self, name: str, value: Any) -> tantivy.Query:
        """Return the query for an exact value of a field.

        Raises:
            WrongValue: the field cannot hold the value, or is a GEO_POINT.
        """
        if name in self.fields and self.fields[name].type == schema_pb2.FIELD_TYPE_GEO_POINT:
            raise WrongValue(f"{name} is a point, so it cannot be searched by values")
        try:
            return tantivy.Query.term_query(self._index_schema, name, value, "basic")
        except (ValueError, TypeError, OverflowError) as error:
            raise WrongValue(f"{name} cannot hold the value {value!r}: {error}") from error

    def range(self, field: schema_pb2.FieldSchema, low: Any, high: Any) -> tantivy.Query:
        """Return the query for values between two inclusive bounds; None: no bound.

        Raises:
            WrongValue: the field has no order, or cannot hold a bound.
        """
        if low is None and high is None and field.type in _WITH_COLUMN:
            return tantivy.Query.exists_query(field.name)
        kind = _RANGE_TYPES.get(field.type)
        if kind is None:
            raise WrongValue(f"{field.name} has no order, so it cannot be searched by ranges")
        try:
            return tantivy.Query.range_query(self._index_schema, field.name, kind, low, high)
        except (ValueError, TypeError, OverflowError) as error:
            raise WrongValue(f"{field.name} cannot hold a bound of this range: {error}") from error

    def _all_of(self, parts: tuple[Node, ...]) -> tantivy.Query | None:
        clauses = []
        for at, part in enumerate(parts):
            is_not = isinstance(part, NoneOf)
            query = self._translate(part.part) if isinstance(part, NoneOf) else self._part(parts, at)
            if query is not None:
                clauses.append((tantivy.Occur.MustNot if is_not else tantivy.Occur.Must, query))
        if not clauses:
            return None
        if all(occur is tantivy.Occur.MustNot for occur, _ in clauses):
            # The engine finds nothing for a query without a part that must match.
            clauses.append((tantivy.Occur.Must, tantivy.Query.all_query()))
        return tantivy.Query.boolean_query(clauses)

    def _part(self, parts: Sequence[Node], at: int) -> tantivy.Query | None:
        part = parts[at]
        if isinstance(part, Word):
            return self._over_fields(part, partial(self._text, beside=_beside(parts, at)))
        return self._translate(part)

    def _any_of(self, parts: tuple[Node, ...]) -> tantivy.Query | None:
        queries = [query for part in parts if (query := self._translate(part)) is not None]
        return either(queries) if queries else None

    def _between(self, node: Between) -> tantivy.Query:
        field = self._field(node.field, node.position)
        try:
            low, high = (None if bound is None else read_bound(field, bound) for bound in (node.low, node.high))
            return self.range(field, low, high)
        except WrongValue as error:
            raise QueryError(str(error), node.position) from error

    def _over_fields(
        self,
        node: Word | Prefix | Phrase,
        build: Callable[[schema_pb2.FieldSchema, Any], tantivy.Query | None],
    ) -> tantivy.Query | None:
        if node.field is not None:
            found = build(self._field(node.field, node.position), node)
            return tantivy.Query.empty_query() if found is None and has_word(node.text) else found
        if not has_word(node.text):
            return None
        parts = []
        for field in self._default:
            query = build(field, node)
            if query is not None:
                parts.append(tantivy.Query.boost_query(query, field.boost or 1.0))
        return tantivy.Query.disjunction_max_query(parts, _TIE_BREAKER) if parts else tantivy.Query.empty_query()

    def _text(self, field: schema_pb2.FieldSchema, node: Word | Phrase, beside: Beside = ALONE) -> tantivy.Query | None:
        if field.type != schema_pb2.FIELD_TYPE_TEXT:
            return self._whole(field, node)
        return self._texts.words(field, node.text, beside)

    def _prefix(self, field: schema_pb2.FieldSchema, node: Prefix) -> tantivy.Query | None:
        if field.type == schema_pb2.FIELD_TYPE_STRING:
            return tantivy.Query.regex_query(self._index_schema, field.name, _any_spelling(node.text) + ".*")
        if field.type != schema_pb2.FIELD_TYPE_TEXT:
            raise QueryError(f"{field.name} has no text, so it cannot be searched by prefixes", node.position)
        return self._texts.beginning(field, node.text)

    def _whole(self, field: schema_pb2.FieldSchema, node: Word | Phrase) -> tantivy.Query:
        """Return the query for a whole value; spelling variants of a STRING value match, too, but rank lower."""
        try:
            exact = self.term(field.name, read_bound(field, node.text))
        except WrongValue as error:
            raise QueryError(str(error), node.position) from error
        if field.type != schema_pb2.FIELD_TYPE_STRING:
            return exact
        return either([exact, tantivy.Query.regex_query(self._index_schema, field.name, _any_spelling(node.text))])

    def _field(self, name: str, position: int) -> schema_pb2.FieldSchema:
        if name not in self.fields:
            raise QueryError(f"{name} is not searched; there are: {', '.join(sorted(self.fields))}", position)
        return self.fields[name]


def _beside(parts: Sequence[Node], at: int) -> Beside:
    """Return the neighbours of a part that are searched in the same field; lone signs between them are skipped."""
    here = parts[at]
    assert isinstance(here, Word)

    def nearest(others: Iterable[Node]) -> str:
        for other in others:
            if not isinstance(other, Word) or other.field != here.field:
                return ""
            if has_word(other.text):
                return other.text
        return ""

    return Beside(nearest(reversed(parts[:at])), nearest(parts[at + 1 :]))


def _any_spelling(text: str) -> str:
    """Return the regular expression of a value that ignores case and look-alike letters."""
    return "".join(f"[{spellings(each)}]" if each.isalpha() else escape(each) for each in text)
