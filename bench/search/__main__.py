"""`make bench-search`: searches by gRPC, compared with an empty call, the engine alone, SQLite FTS5 and PostgreSQL.

The index has BENCH_DOCUMENTS documents, by default 100,000; `--full` takes a million, `--smoke` a few hundred.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from tools.arguments import parse

from bench.search.calls import Caller, Searcher, measure_calls
from bench.search.queries import Query, queries_of
from bench.search.report import show_kinds, show_rates
from bench.search.sides import Engine, Postgres, Side, Sqlite
from bench.search.timing import Times, measure_side
from classifeed_common.auth import KeyStore, write_keys
from classifeed_common.auth.policy import OPERATOR
from classifeed_common.embedded.postgres import EmbeddedPostgres

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


def measure(folder: Path, documents: int, seconds: float) -> dict[str, Any]:
    """Measure all and print."""
    keys = folder / "keys"
    write_keys(keys, [OPERATOR])
    queries = queries_of(documents, _QUERIES)
    postgres = EmbeddedPostgres(folder / "postgres", password="bench")
    with Searcher(folder / "index", keys, documents) as searcher:
        print(f"{documents:,} documents; the index was filled at {documents / searcher.filled_s:,.0f} a second")
        postgres.start()
        try:
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
        finally:
            postgres.stop()
        result = show_kinds(kinds)
        rates = asyncio.run(measure_calls(searcher, KeyStore(keys), queries, seconds))
        return {"kinds": result, "calls": show_rates(rates)}


def main() -> None:
    """Measure and print."""
    arguments = parse(__doc__, full="a million documents", smoke="run in a few seconds, for tests")
    documents, seconds = int(os.environ.get("BENCH_DOCUMENTS", "100000")), 8.0
    if arguments.full:
        documents = 1_000_000
    elif arguments.smoke:
        documents, seconds = 300, 0.3
    with tempfile.TemporaryDirectory(prefix="cf-bench-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user
        result = measure(Path(folder), documents, seconds)
    print(json.dumps({"bench": "search", "documents": documents, **result}))


if __name__ == "__main__":
    main()
