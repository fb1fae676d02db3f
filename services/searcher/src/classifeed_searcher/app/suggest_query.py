"""Suggest a query for a search without hits: the words that match nothing, and the number of hits without them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import tantivy

from classifeed.search.v1.search_service_pb2 import Hint
from classifeed_searcher.domain.query import AllOf, Everything, NoneOf, Phrase, Prefix, Word, has_word
from classifeed_searcher.domain.query_text import QueryPart, split_query
from classifeed_searcher.engine.index import TantivyIndex

# Each word costs another count, and a person does not correct a longer query word by word.
_MOST_WORDS: Final = 12


def suggest_query(index: TantivyIndex, text: str, filters: list[tantivy.Query]) -> Hint | None:
    """Return a hint for a query without hits; None if there is none to give. Blocks, with one count per word.

    Args:
        index: index that was searched.
        text: text of the query, which must be valid.
        filters: filters of the search; only documents that match them are counted.
    """
    parts = split_query(text, frozenset(index.fields))
    nodes = [part.node for part in parts]
    words = [part for part in parts if _is_searched(part)]
    if not 0 < len(words) <= _MOST_WORDS or not index.count(Everything(), filters):
        return None
    unmatched = [
        part for at, part in enumerate(parts) if _is_searched(part) and not index.count_part(nodes, at, filters)
    ]
    left_out: list[QueryPart] = []
    total = _count_without(index, parts, unmatched, filters)
    matched = [part for part in words if part not in unmatched]
    if not total and len(matched) > 1:
        # Each of these words has matches, but no document has all: leave out the one that costs the most hits.
        totals = [(_count_without(index, parts, [*unmatched, part], filters), part) for part in matched]
        total, part = max(totals, key=lambda each: each[0])
        left_out = [part] if total else []
    if not unmatched and not left_out:
        return None
    removed = [*unmatched, *left_out]
    kept = [part for part in parts if part not in removed] if total else []
    return Hint(
        unmatched=[part.text for part in unmatched],
        left_out=[part.text for part in left_out],
        query=" ".join(part.text for part in kept),
        total=total,
    )


def _is_searched(part: QueryPart) -> bool:
    node = part.node
    if isinstance(node, Word | Phrase | Prefix):
        return has_word(node.text)
    return not isinstance(node, NoneOf)


def _count_without(
    index: TantivyIndex, parts: Sequence[QueryPart], removed: Collection[QueryPart], filters: list[tantivy.Query]
) -> int:
    kept = [part for part in parts if part not in removed]
    if not any(_is_searched(part) for part in kept):
        return 0  # the rest has no word to search for
    return index.count(AllOf(tuple(part.node for part in kept)), filters)
