"""Queries for the words of a TEXT field, in every spelling that people use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Final, NamedTuple

import tantivy

from classifeed.documents.v1 import schema_pb2
from classifeed_searcher.engine.analysis import PLAIN, RU_EN
from classifeed_searcher.engine.spelling import alphabets, atoms_of, is_pair, join, read_code
from classifeed_searcher.engine.word_forms import other_stems

# A word is searched in several fields, which are mostly analyzed alike.
_REMEMBERED: Final = 512


class Beside(NamedTuple):
    """The words that stand before and behind a word in a query; empty: none."""

    before: str = ""
    after: str = ""


ALONE: Final = Beside()


class _Spelling(NamedTuple):
    """One way to write a text: words anywhere in a field, and words next to each other."""

    pairs: list[str]
    phrase: list[str]


class TextQueries:
    """Builds queries for one index; fields are searched as they were analyzed.

    Of the many spellings of a word few are in an index, so queries are made of those alone: a lookup in the dictionary
    costs a microsecond, a word that is not there makes the whole query slower.

    Args:
        index_schema: of the index.
        analyzers: by name.
        frequency: how many documents have a word in a field of the index, as it is now.
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
        """Return the query for words next to each other; None where the text or the field has no such words.

        Args:
            field: a TEXT field.
            text: one word, or the words of a phrase.
            beside: what a code may go on with: `540` between `TK` and `M` is also found as part of `TK540M`.
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

    def postings(self, field: schema_pb2.FieldSchema, text: str) -> int:
        """Return how many documents have the words of a text in a field, added up over words and spellings."""
        spellings = self._spell(_analyzer_of(field), text)
        return sum(self._frequency(field.name, word) for each in spellings for word in (*each.pairs, *each.phrase))

    def beginning(self, field: schema_pb2.FieldSchema, text: str) -> tantivy.Query | None:
        """Return the query for words of which the last one begins so; None where the text has no words."""
        found = [query for each in alphabets(text) if (query := self._beginning(field, each)) is not None]
        # The index holds folded word forms: "диваны*" would miss them by its beginning, and finds them as a word.
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
        # The engine's own query for this looks at the first 50 words that begin so, and finds nothing of the others.
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
        # What a regular expression finds, made in 2 µs instead of 500: that one is compiled for each search.
        return tantivy.Query.fuzzy_term_query(self._index_schema, field, beginning, distance=0, prefix=True)

    def _term(self, field: str, word: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._index_schema, field, word, "position")


def either(queries: list[tantivy.Query]) -> tantivy.Query:
    """Return the query for what one of some queries finds, at least one of them."""
    if len(queries) == 1:
        return queries[0]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, query) for query in queries])


def escape(text: str) -> str:
    """Return the regular expression of a text as it is."""
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
