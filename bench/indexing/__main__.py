"""`make bench-indexing`: each stage of indexing a document, compared with a bare program.

A measurement takes BENCH_DOCUMENTS documents, by default 10,000; `--full` takes ten times as many, `--smoke` a few
hundred.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
from collections.abc import Mapping
from typing import Any

import structlog
from tools.arguments import parse

from bench.indexing.installation import Installation, running
from bench.indexing.mark import Advanced, measure_mark
from bench.indexing.receiver import Writing, Written, put_schema
from bench.indexing.sink import Indexed, measure_bare, measure_hop


def show_writing(rounds: list[dict[str, Written]]) -> dict[str, Any]:
    """Print and return the figures of writing into the registry."""
    print("\nInto the registry: documents/s, CPU µs a document")
    figures: dict[str, Any] = {}
    for name in rounds[0]:
        rates = [each[name].rate for each in rounds]
        cpu = _medians([each[name].cpu_us for each in rounds])
        print(f"  {name:<15} {statistics.median(rates):>8,.0f} ({min(rates):,.0f}–{max(rates):,.0f})  {_shares(cpu)}")
        figures[name] = {"documents_s": round(statistics.median(rates)), "cpu_us": _rounded(cpu)}
    for bare in ("same statement", "COPY"):
        ratios = [each["PushBatch"].total_us / each[bare].total_us for each in rounds]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"
        print(f"  PushBatch takes {spread} times the CPU of {bare}")
        figures[f"ratio to {bare}"] = round(statistics.median(ratios), 2)
    return figures


def show_hop(hop: Indexed, bare: Indexed) -> dict[str, Any]:
    """Print and return the figures from the registry to the index."""
    print("\nOut of the registry into the index: documents/s, CPU µs a document")
    figures: dict[str, Any] = {}
    for name, found in (("indexer to searcher", hop), ("bare engine", bare)):
        print(f"  {name:<19} {found.rate:>8,.0f}  {found.commits} commits  {_shares(found.cpu_us)}")
        figures[name] = {"documents_s": round(found.rate), "cpu_us": _rounded(found.cpu_us)}
    searcher = hop.cpu_us["searcher"] / bare.total_us
    print(
        f"  all takes {hop.total_us / bare.total_us:.2f} times the CPU of the bare engine, the searcher {searcher:.2f}"
    )
    return {**figures, "ratio": round(hop.total_us / bare.total_us, 2), "searcher_ratio": round(searcher, 2)}


def show_mark(found: dict[str, Advanced]) -> dict[str, Any]:
    """Print and return the figures of advancing the publish mark."""
    print("\nThe publish mark of 500 offers: ms of the transaction, and of its steps")
    figures: dict[str, Any] = {}
    for name, each in found.items():
        steps = "  ".join(f"{step} {taken:.1f}" for step, taken in each.steps_ms.items())
        print(f"  {name:<10} {each.total_ms:>6.1f} (p99 {each.total_p99_ms:.1f}) {steps}")
        print(f"  {'':<10} CPU of PostgreSQL {each.postgres_ms:.1f} ms a batch; {each.offers_s:,.0f} offers/s marked, "
              f"{each.changed_s:,.0f} changed")  # fmt: skip
        figures[name] = {
            "ms": round(each.total_ms, 1),
            "p99_ms": round(each.total_p99_ms, 1),
            **_rounded(each.steps_ms),
        }
    return figures


async def measure(installation: Installation, documents: int, rounds: int) -> dict[str, Any]:
    """Measure all and print."""
    await put_schema(installation)
    installation.pause("indexer")
    writing = Writing(installation, documents)
    into_registry = show_writing([await writing.measure() for _ in range(rounds)])
    hop = await measure_hop(installation, writing.pushed)
    bare = await asyncio.to_thread(measure_bare, writing.pushed, max(1, writing.pushed // max(1, hop.commits)))
    into_index = show_hop(hop, bare)
    mark = show_mark(await measure_mark(installation, max(1_000, 2 * documents)))
    return {"registry": into_registry, "index": into_index, "mark": mark}


def _medians(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(each[name] for each in found) for name in found[0]}


def _shares(cpu_us: Mapping[str, float]) -> str:
    total = sum(cpu_us.values())
    parts = ", ".join(f"{name} {value:.0f} ({value / total:.0%})" for name, value in cpu_us.items() if value >= 1)
    return f"{total:.0f}: {parts}"


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 1) for name, value in values.items()}


def main() -> None:
    """Measure and print."""
    arguments = parse(__doc__, full="ten times as many documents", smoke="run in a few seconds, for tests")
    documents, rounds = int(os.environ.get("BENCH_DOCUMENTS", "10000")), 3
    if arguments.full:
        documents = 100_000
    elif arguments.smoke:
        documents, rounds = 500, 1
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # stdout has the tables only
    with running() as installation:
        result = asyncio.run(measure(installation, documents, rounds))
    print(json.dumps({"bench": "indexing", "documents": documents, **result}))


if __name__ == "__main__":
    main()
