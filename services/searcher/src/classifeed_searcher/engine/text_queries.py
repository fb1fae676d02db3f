"""Queries for the words of a TEXT field, in all their spellings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Final, NamedTuple

import tantivy

from classifeed.documents.v1 import schema_pb2
from classifeed_searcher.engine.analysis import PLAIN, RU_EN
from classifeed_searcher.engine.spelling import alphabets, atoms_of, is_pair, join, read_code
from classifeed_searcher.engine.word_forms import other_stems

# A word is searched in several fields, and most of them have the same analyzer.
_REMEMBERED: Final = 512


class Beside(NamedTuple):
    """The words before and after a word in a query; empty: none."""

    before: str = ""
    after: str = ""


ALONE: Final = Beside()


class _Spelling(NamedTuple):
    """A spelling of a text: tokens anywhere in a field, and tokens next to each other."""

    pairs: list[str]
    phrase: list[str]


class TextQueries:
    """Builds queries for one index; each field is searched with its analyzer.

    An index has few of the many spellings of a word, and queries contain only these. A lookup in the dictionary takes a
    microsecond, and a missing word would make the whole query slower.

    Args:
        index_schema: the engine's schema of the index.
        analyzers: analyzers by name.
        frequency: function that returns the current number of documents with a word in a field.
    """

    def __init__(
        self,
        index_schema: tantivy.Schema,
        analyzers: Mapping[str, tantivy.TextAnalyzer],
        frequency: Callable[[str, str], int],
    ) -> None:
        self._index_schema = index_schema
        self._analyzers = analyzers
        self._frequency = frequency
        self._spell = lru_cache(maxsize=_REMEMBERED)(partial(_read_spellings, analyzers))
        self._join = lru_cache(maxsize=_REMEMBERED)(partial(_read_joined, analyzers))

    def words(self, field: schema_pb2.FieldSchema, text: str, beside: Beside = ALONE) -> tantivy.Query | None:
        """Return the query for words next to each other; None if the text has no words, or the field has none of them.

        Args:
            field: a TEXT field.
            text: one word, or the words of a phrase.
            beside: neighbours that may form a code: `540` between `TK` and `M` also matches as part of `TK540M`.
        """
        analyzer = _analyzer_of(field)
        found = [
            self._all_of(field.name, spelling)
            for spelling in self._spell(analyzer, text)
            if all(self._frequency(field.name, word) for word in (*spelling.pairs, *spelling.phrase))
        ]
        joined = self._join(analyzer, text, beside)
        found += [self._term(field.name, pair) for pair in joined if self._frequency(field.name, pair)]
        return either(found) if found else None

    def beginning(self, field: schema_pb2.FieldSchema, text: str) -> tantivy.Query | None:
        """Return the query for words of which the last one is a prefix; None if the text has no words."""
        found = [query for each in alphabets(text) if (query := self._beginning(field, each)) is not None]
        # The index holds stems, of which "диваны" is no prefix: so "диваны*" is searched as a whole word, too.
        if (words := self.words(field, text)) is not None:
            found.append(words)
        return either(found) if found else None

    def _beginning(self, field: schema_pb2.FieldSchema, text: str) -> tantivy.Query | None:
        analyzer = self._analyzers[_analyzer_of(field)]
        code = read_code(text)
        if code.pairs and not code.rest:
            *whole, last = code.pairs
            queries = [self._term(field.name, word) for pair in whole for word in analyzer.analyze(pair)]
            return _all([*queries, self._begins(field.name, last.lower())])
        words = self._analyzers[PLAIN].analyze(text)
        if not words:
            return None
        if len(words) == 1:
            return self._begins(field.name, words[0])
        before = analyzer.analyze(" ".join(words[:-1]))
        # The engine's phrase prefix query expands only the first 50 words with the prefix.
        phrase = [*map(escape, before), escape(words[-1]) + ".*"]
        return tantivy.Query.regex_phrase_query(self._index_schema, field.name, [*phrase])

    def _all_of(self, field: str, spelling: _Spelling) -> tantivy.Query:
        queries = [self._term(field, pair) for pair in spelling.pairs]
        if len(spelling.phrase) == 1:
            queries.append(self._term(field, spelling.phrase[0]))
        elif spelling.phrase:
            queries.append(tantivy.Query.phrase_query(self._index_schema, field, [*spelling.phrase]))
        return _all(queries)

    def _begins(self, field: str, beginning: str) -> tantivy.Query:
        # Equals a regular expression query, which would be compiled for each search: 2 µs instead of 500 µs.
        return tantivy.Query.fuzzy_term_query(self._index_schema, field, beginning, distance=0, prefix=True)

    def _term(self, field: str, word: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._index_schema, field, word, "position")


def either(queries: list[tantivy.Query]) -> tantivy.Query:
    """Return the query that matches if at least one of some queries does."""
    if len(queries) == 1:
        return queries[0]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def escape(text: str) -> str:
    """Return the regular expression that matches a literal text."""
    return "".join(f"\\{character}" if character in r"\.+*?()|[]{}^$&-~#" else character for character in text)


def _all(queries: Iterable[tantivy.Query]) -> tantivy.Query:
    found = list(queries)
    if len(found) == 1:
        return found[0]
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in found])


def _analyzer_of(field: schema_pb2.FieldSchema) -> str:
    return RU_EN if field.analyzer == schema_pb2.ANALYZER_RU_EN else PLAIN


def _read_spellings(analyzers: Mapping[str, tantivy.TextAnalyzer], analyzer: str, text: str) -> list[_Spelling]:
    unified, *twins = alphabets(text)
    code = read_code(unified)
    if not code.pairs:
        return [_Spelling([], phrase) for phrase in _phrases(analyzers, analyzer, [unified, *twins]) if phrase]
    pairs = [word for pair in code.pairs for word in analyzers[analyzer].analyze(pair)]
    rests = alphabets(code.rest) if code.rest else [""]
    return [_Spelling(pairs, phrase) for phrase in _phrases(analyzers, analyzer, rests)]


def _phrases(analyzers: Mapping[str, tantivy.TextAnalyzer], analyzer: str, texts: list[str]) -> list[list[str]]:
    phrases = [list(analyzers[analyzer].analyze(text)) for text in texts]
    if analyzer != RU_EN:
        return phrases
    return phrases + other_stems(analyzers[PLAIN].analyze(texts[0]), phrases[0])


def _read_joined(analyzers: Mapping[str, tantivy.TextAnalyzer], analyzer: str, text: str, beside: Beside) -> list[str]:
    if not any(beside) or len(atoms_of(text)) != 1:
        return []
    joined: dict[str, None] = {}
    for left, right in ((beside.before, text), (text, beside.after)):
        before, after = atoms_of(alphabets(left)[0]), atoms_of(alphabets(right)[0])
        if before and after and is_pair(before[-1], after[0]):
            joined[join(before[-1], after[0])] = None
    return [word for pair in joined for word in analyzers[analyzer].analyze(pair)]
