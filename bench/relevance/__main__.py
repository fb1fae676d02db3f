"""`make bench-relevance`: the first five hits of 60 queries over the shared feeds, against labels.

The labels in queries.json name the relevant offers of each query, by file and offer id. They were chosen from titles,
vendors and categories in the feeds before the first search, without regard to the ranking. The bench uses the engine
as the searcher does, without any other part of the suite.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.arguments import parse

from bench.kit.report import Report
from bench.kit.running import scratch
from bench.relevance.corpus import read_documents
from classifeed_offers.domain.documents import schema
from classifeed_searcher.domain.query_text import parse_query
from classifeed_searcher.engine.index import TantivyIndex

_FIRST: Final = 5
_ROUNDS: Final = 20
_KEY: Final = ("seller", "external_id")
_QUERIES: Final = Path(__file__).with_name("queries.json")


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


def main() -> None:
    """Fill an index, judge all queries and report the scores."""
    parse(__doc__)
    queries = read_queries()
    files = {file for query in queries for file, _ in query.relevant}
    with scratch() as folder:
        index = TantivyIndex(folder, schema())
        documents = list({document.pk: document for document in read_documents(files)}.values())
        started = time.perf_counter()
        index.add(documents)
        index.commit()
        filled_s = time.perf_counter() - started
        scores = [judge(index, query) for query in queries]
        index.close()
    report = Report("relevance", offers=len(documents), feeds=len(files))
    report.table(
        f"The first {_FIRST} hits of each query",
        ["kind", "wanted", "precision", "success", "ms"],
        {
            score.query.text: (
                score.query.kind,
                len(score.query.relevant),
                score.precision,
                "yes" if score.success else "NO",
                score.took_ms,
            )
            for score in sorted(scores, key=lambda score: (score.precision, score.query.text))
        },
    )
    kinds = {
        kind: [score for score in scores if score.query.kind == kind]
        for kind in sorted({score.query.kind for score in scores})
    }
    report.table(
        "Means by kind",
        ["queries", f"precision@{_FIRST}", f"success@{_FIRST}", "p50 ms", "worst ms"],
        {kind: _summary(those) for kind, those in {**kinds, "all": scores}.items()},
    )
    report.show("offers/s of filling the index", len(documents) / filled_s)
    report.finish()


def _summary(scores: Sequence[Score]) -> tuple[float, ...]:
    times_ms = [score.took_ms for score in scores]
    return (
        len(scores),
        statistics.fmean(score.precision for score in scores),
        statistics.fmean(score.success for score in scores),
        statistics.median(times_ms),
        max(times_ms),
    )


if __name__ == "__main__":
    main()
