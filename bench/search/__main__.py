"""`make bench-search`: searches by gRPC, compared with an empty call, the engine alone, SQLite FTS5 and PostgreSQL.

The index has BENCH_DOCUMENTS documents, by default 100,000; `--full` takes a million, `--smoke` a few hundred.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from tools.arguments import parse

from bench.kit.report import Report
from bench.kit.running import running_postgres, scratch, size_of
from bench.search.calls import Caller, Searcher, measure_calls
from bench.search.queries import Query, queries_of
from bench.search.report import show_kinds, show_rates
from bench.search.sides import Engine, Postgres, Side, Sqlite
from bench.search.timing import Times, measure_side
from classifeed_common.auth import KeyStore, write_keys
from classifeed_common.auth.policy import OPERATOR

_QUERIES: Final = 200


def measure_kinds(
    caller: Caller, sides: dict[str, Side], queries: dict[str, list[Query]]
) -> dict[str, dict[str, Times]]:
    """Measure the sides in turn; return their times by kind of search."""
    found: dict[str, dict[str, Times]] = {}
    for kind, those in queries.items():
        found[kind] = {name: measure_side(side, those) for name, side in {"search": caller, **sides}.items()}
        found[kind]["empty call"] = measure_side(caller.empty, those)
    return found


def measure(folder: Path, documents: int, seconds: float, report: Report) -> None:
    """Measure and report all."""
    keys = folder / "keys"
    write_keys(keys, [OPERATOR])
    queries = queries_of(documents, _QUERIES)
    with Searcher(folder / "index", keys, documents) as searcher:
        report.show("documents/s of filling the index", documents / searcher.filled_s)
        with running_postgres() as postgres:
            sqlite, table = Sqlite(folder / "sqlite", documents), Postgres(postgres.dsn, documents)
            sides: dict[str, Side] = {
                "engine": Engine(searcher.folder / "index"),
                "SQLite FTS5": sqlite,
                "PostgreSQL": table,
            }
            with Caller(searcher.target, KeyStore(keys)) as caller:
                kinds = measure_kinds(caller, sides, queries)
            table.close()
            sqlite.close()
        show_kinds(report, kinds)
        show_rates(report, asyncio.run(measure_calls(searcher, KeyStore(keys), queries, seconds)))


def main() -> None:
    """Measure and report."""
    arguments = parse(__doc__, full="a million documents", smoke="run in a few seconds, for tests")
    documents, seconds = size_of("BENCH_DOCUMENTS", 100_000), 8.0
    if arguments.full:
        documents = 1_000_000
    elif arguments.smoke:
        documents, seconds = 300, 0.3
    report = Report("search", documents=documents)
    with scratch() as folder:
        measure(folder, documents, seconds, report)
    report.finish()


if __name__ == "__main__":
    main()
