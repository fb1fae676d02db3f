"""From the query tree to the engine's queries."""

from __future__ import annotations

from collections.abc import Callable
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
)
from classifeed_searcher.engine.analysis import PLAIN, RU_EN, fold
from classifeed_searcher.engine.fields import WrongValue, read_bound

_RANGE_TYPES = {
    schema_pb2.FIELD_TYPE_INT: tantivy.FieldType.Integer,
    schema_pb2.FIELD_TYPE_DOUBLE: tantivy.FieldType.Float,
    schema_pb2.FIELD_TYPE_TIMESTAMP: tantivy.FieldType.Date,
    schema_pb2.FIELD_TYPE_BOOL: tantivy.FieldType.Boolean,
    schema_pb2.FIELD_TYPE_STRING: tantivy.FieldType.Text,
}
# A document that has the word in several fields ranks above one that has it once, but not by the sum.
_TIE_BREAKER = 0.1


class Translator:
    """Translates trees for one index."""

    def __init__(
        self, schema: schema_pb2.Schema, index_schema: tantivy.Schema, analyzers: dict[str, tantivy.TextAnalyzer]
    ) -> None:
        self._index_schema = index_schema
        self._analyzers = analyzers
        self.fields = {field.name: field for field in schema.fields if field.indexed}
        # A TEXT field is searched by default, a STRING field only where its weight says so.
        self._default = [
            field
            for field in self.fields.values()
            if field.type == schema_pb2.FIELD_TYPE_TEXT
            or (field.type == schema_pb2.FIELD_TYPE_STRING and field.boost > 0)
        ]

    def translate(self, node: Node) -> tantivy.Query:
        """Returns the engine's query.

        Raises:
            QueryError: a field cannot be searched so; it says where.
        """
        match node:
            case Everything():
                return tantivy.Query.all_query()
            case AllOf(parts):
                return self._all_of(parts)
            case AnyOf(parts):
                return tantivy.Query.boolean_query([(tantivy.Occur.Should, self.translate(part)) for part in parts])
            case NoneOf():
                return self._all_of((node,))
            case Between():
                return self._between(node)
            case Word():
                return self._over_fields(node, self._word)
            case Prefix():
                return self._over_fields(node, self._prefix)
            case Phrase():
                return self._over_fields(node, self._phrase)

    def term(self, name: str, value: Any) -> tantivy.Query:
        """Returns the query for an exact value of a field."""
        return tantivy.Query.term_query(self._index_schema, name, value, "basic")

    def range(self, field: schema_pb2.FieldSchema, low: Any, high: Any) -> tantivy.Query:
        """Returns the query for values between two bounds, both included; None is no bound.

        Raises:
            WrongValue: the field has no order.
        """
        kind = _RANGE_TYPES.get(field.type)
        if kind is None:
            raise WrongValue(f"{field.name} has no order, so it cannot be searched by a range")
        if low is None and high is None:
            return tantivy.Query.exists_query(field.name)
        return tantivy.Query.range_query(self._index_schema, field.name, kind, low, high)

    def _all_of(self, parts: tuple[Node, ...]) -> tantivy.Query:
        clauses = [
            (tantivy.Occur.MustNot, self.translate(part.part))
            if isinstance(part, NoneOf)
            else (tantivy.Occur.Must, self.translate(part))
            for part in parts
        ]
        if all(occur is tantivy.Occur.MustNot for occur, _ in clauses):
            # Without anything that must match, the engine would find nothing at all.
            clauses.append((tantivy.Occur.Must, tantivy.Query.all_query()))
        return tantivy.Query.boolean_query(clauses)

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
    ) -> tantivy.Query:
        if node.field is not None:
            found = build(self._field(node.field, node.position), node)
            return found if found is not None else tantivy.Query.empty_query()
        parts = []
        for field in self._default:
            query = build(field, node)
            if query is not None:
                parts.append(tantivy.Query.boost_query(query, field.boost or 1.0))
        return tantivy.Query.disjunction_max_query(parts, _TIE_BREAKER) if parts else tantivy.Query.empty_query()

    def _word(self, field: schema_pb2.FieldSchema, node: Word) -> tantivy.Query | None:
        if field.type != schema_pb2.FIELD_TYPE_TEXT:
            return self._exact(field, node)
        return self._words(field, node.text)

    def _phrase(self, field: schema_pb2.FieldSchema, node: Phrase) -> tantivy.Query | None:
        if field.type != schema_pb2.FIELD_TYPE_TEXT:
            return self._exact(field, node)
        return self._words(field, node.text)

    def _prefix(self, field: schema_pb2.FieldSchema, node: Prefix) -> tantivy.Query | None:
        if field.type == schema_pb2.FIELD_TYPE_STRING:
            return tantivy.Query.regex_query(self._index_schema, field.name, _escape(node.text) + ".*")
        if field.type != schema_pb2.FIELD_TYPE_TEXT:
            raise QueryError(f"{field.name} holds no text, so it has no beginnings", node.position)
        begins = _escape(fold(node.text).lower()) + ".*"
        # The index holds folded word forms: "диваны*" would miss them by its beginning, and finds them as a word.
        either = [tantivy.Query.regex_query(self._index_schema, field.name, begins)]
        if (word := self._words(field, node.text)) is not None:
            either.append(word)
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in either])

    def _words(self, field: schema_pb2.FieldSchema, text: str) -> tantivy.Query | None:
        name = RU_EN if field.analyzer == schema_pb2.ANALYZER_RU_EN else PLAIN
        words = self._analyzers[name].analyze(fold(text))
        if not words:
            return None
        if len(words) == 1:
            return tantivy.Query.term_query(self._index_schema, field.name, words[0], "position")
        return tantivy.Query.phrase_query(self._index_schema, field.name, list(words))

    def _exact(self, field: schema_pb2.FieldSchema, node: Word | Phrase) -> tantivy.Query:
        try:
            return self.term(field.name, read_bound(field, node.text))
        except WrongValue as error:
            raise QueryError(str(error), node.position) from error

    def _field(self, name: str, position: int) -> schema_pb2.FieldSchema:
        if name not in self.fields:
            raise QueryError(f"{name} is not searched; there are: {', '.join(sorted(self.fields))}", position)
        return self.fields[name]


def _escape(text: str) -> str:
    return "".join(f"\\{character}" if character in r"\.+*?()|[]{}^$&-~#" else character for character in text)
