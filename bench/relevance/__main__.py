"""`make bench-relevance`: the first five hits of 60 queries over the shared feeds, against labels.

The labels in queries.json name the relevant offers of each query, by file and offer id. They were chosen from titles,
vendors and categories in the feeds before the first search, without regard to the ranking. The bench uses the engine
as the searcher does, without any other part of the suite.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.arguments import parse

from bench.relevance.corpus import read_documents
from classifeed_offers.domain.documents import schema
from classifeed_searcher.domain.query_text import parse_query
from classifeed_searcher.engine.index import TantivyIndex

_FIRST = 5
_ROUNDS = 20
_KEY = ("seller", "external_id")
_QUERIES = Path(__file__).with_name("queries.json")


@dataclass(frozen=True)
class Query:
    """A query and its relevant offers.

    Attributes:
        text: text of the query, as a buyer would type it.
        kind: words, code (letters with digits), lookalike (Latin and Cyrillic), sign (a lone `&`, `/`).
        relevant: file and id of each relevant offer.
    """

    text: str
    kind: str
    relevant: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Score:
    """Quality of the first hits of a query.

    Attributes:
        query: the query.
        precision: share of relevant offers among the first five hits, or among as many as there are relevant offers.
        success: whether a relevant offer is among the first five hits.
        took_ms: median time of the search in milliseconds.
    """

    query: Query
    precision: float
    success: bool
    took_ms: float


def read_queries() -> list[Query]:
    """Return the labelled queries."""
    return [
        Query(
            entry["query"],
            entry["kind"],
            frozenset((file, external_id) for file, ids in entry["relevant"].items() for external_id in ids),
        )
        for entry in json.loads(_QUERIES.read_text("utf-8"))
    ]


def judge(index: TantivyIndex, query: Query) -> Score:
    """Return the score of a query."""
    took_ms = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        node = parse_query(query.text, frozenset(index.fields))
        found = index.search(node, [], sort_field="", descending=True, offset=0, limit=_FIRST)
        took_ms.append(1000 * (time.perf_counter() - started))
    keys = {tuple(field.values[0].string_value for field in hit.fields if field.name in _KEY) for hit in found.hits}
    wanted = len(keys & query.relevant)
    return Score(query, wanted / min(_FIRST, len(query.relevant)), wanted > 0, statistics.median(took_ms))


def summarize(scores: Sequence[Score]) -> dict[str, float]:
    """Return the means of scores."""
    return {
        "queries": len(scores),
        "precision_at_5": round(statistics.fmean(score.precision for score in scores), 3),
        "success_at_5": round(statistics.fmean(score.success for score in scores), 3),
        "search_ms_p50": round(statistics.median(score.took_ms for score in scores), 2),
        "search_ms_max": round(max(score.took_ms for score in scores), 2),
    }


def main() -> None:
    """Fill an index, judge all queries and print the scores."""
    parse(__doc__)
    queries = read_queries()
    files = {file for query in queries for file, _ in query.relevant}
    with tempfile.TemporaryDirectory() as folder:
        index = TantivyIndex(Path(folder), schema())
        documents = list({document.pk: document for document in read_documents(files)}.values())
        started = time.perf_counter()
        index.add(documents)
        index.commit()
        filled_s = time.perf_counter() - started
        scores = [judge(index, query) for query in queries]
        index.close()
    print(f"The first {_FIRST} hits of {len(queries)} queries over {len(documents):,} offers of {len(files)} feeds\n")
    print(f"{'query':<34} {'kind':<10} {'wanted':>6} {'precision':>9} {'success':>7} {'ms':>7}")
    for score in sorted(scores, key=lambda score: (score.precision, score.query.text)):
        query = score.query
        print(
            f"{query.text:<34} {query.kind:<10} {len(query.relevant):>6} {score.precision:>9.2f} "
            f"{'yes' if score.success else 'NO':>7} {score.took_ms:>7.2f}"
        )
    kinds = sorted({query.kind for query in queries})
    by_kind = {kind: summarize([score for score in scores if score.query.kind == kind]) for kind in kinds}
    for kind, summary in {**by_kind, "all": summarize(scores)}.items():
        print(
            f"\n{kind:<10} {summary['queries']:>3} queries  precision@5 {summary['precision_at_5']:.3f}  "
            f"success@5 {summary['success_at_5']:.3f}",
            end="",
        )
    filled = round(len(documents) / filled_s)
    print(f"\n\nIndex filled at {filled:,} offers/s\n")
    print(json.dumps({"bench": "relevance", "documents_per_s": filled, **summarize(scores), "by_kind": by_kind}))


if __name__ == "__main__":
    main()
