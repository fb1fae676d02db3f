"""The tables of the benchmark."""

from __future__ import annotations

from typing import Final

from bench.kit.report import Report, Spread, ratios
from bench.search.calls import Rate
from bench.search.timing import Times

_GOAL_RATE: Final = 2_000
_GOAL_TIMES: Final = 1.5
_GOAL_P99: Final = 2.0


def show_kinds(report: Report, kinds: dict[str, dict[str, Times]]) -> None:
    """Report p50 and p99 of each kind of search and side."""
    sides = list(next(iter(kinds.values())))
    columns = ["found", *(f"{side} {quantile}" for side in sides for quantile in ("p50", "p99"))]
    rows = {
        kind: (found["search"].found, *(value for side in sides for value in (found[side].p50, found[side].p99)))
        for kind, found in kinds.items()
    }
    report.table("Milliseconds of a search", columns, rows)
    for kind, found in kinds.items():
        goal_ms = found["empty call"].p50 + _GOAL_TIMES * found["engine"].p50
        report.at_most(f"p50 ms, {kind}", found["search"].p50, goal_ms)


def show_rates(report: Report, rates: dict[str, list[Rate]]) -> None:
    """Report the rates by callers."""
    rows = {
        name: (
            Spread([each.calls_s for each in rounds]),
            Spread([each.times.p50 for each in rounds]),
            Spread([each.times.p99 for each in rounds]),
            Spread([each.searcher_us for each in rounds]),
            Spread([each.caller_us for each in rounds]),
        )
        for name, rounds in rates.items()
    }
    report.table("Calls", ["calls/s", "p50 ms", "p99 ms", "searcher µs", "caller µs"], rows)
    report.at_least("searches/s, 8 callers", rows["searches, 8 callers"][0], _GOAL_RATE)
    busy_ms, quiet_ms = (
        [each.times.p99 for each in rates[name]] for name in ("the same, indexing", "searches, 1 caller")
    )
    report.at_most("p99 while indexing / without", ratios(busy_ms, quiet_ms), _GOAL_P99)
