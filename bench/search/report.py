"""The printed tables of the bench."""

from __future__ import annotations

import statistics
from typing import Any, Final

from bench.search.calls import Rate
from bench.search.timing import Times

_GOAL_RATE: Final = 2_000
_GOAL_TIMES: Final = 1.5
_GOAL_P99: Final = 2.0


def show_kinds(kinds: dict[str, dict[str, Times]]) -> dict[str, Any]:
    """Print and return p50 and p99 of each kind of search and side."""
    sides = list(next(iter(kinds.values())))
    print(f"\np50 / p99 ms\n{'':<14} {'found':>7}" + "".join(f" {side:>17}" for side in sides) + f" {'goal p50':>9}")
    figures: dict[str, Any] = {}
    for kind, found in kinds.items():
        goal = found["empty call"].p50 + _GOAL_TIMES * found["engine"].p50
        cells = "".join(f" {found[side].p50:>8.2f} {found[side].p99:>8.2f}" for side in sides)
        word = "met" if found["search"].p50 <= goal else "missed"
        print(f"{kind:<14} {found['search'].found:>7.0f}{cells} {goal:>9.2f} {word}")
        figures[kind] = {side: [round(found[side].p50, 3), round(found[side].p99, 3)] for side in sides}
    return figures


def show_rates(rates: dict[str, list[Rate]]) -> dict[str, Any]:
    """Print and return the rates by callers."""
    print(f"\n{'':<22} {'calls/s':>18} {'p50 ms':>7} {'p99 ms':>7} {'searcher µs':>12} {'caller µs':>10}")
    figures: dict[str, Any] = {}
    for name, rounds in rates.items():
        calls = [each.calls_s for each in rounds]
        rate, p50, p99, searcher, caller = (
            statistics.median(values)
            for values in (
                calls,
                [each.times.p50 for each in rounds],
                [each.times.p99 for each in rounds],
                [each.searcher_us for each in rounds],
                [each.caller_us for each in rounds],
            )
        )
        spread = f"{rate:,.0f} ({min(calls):,.0f}–{max(calls):,.0f})"
        print(f"{name:<22} {spread:>18} {p50:>7.2f} {p99:>7.2f} {searcher:>12.0f} {caller:>10.0f}")
        figures[name] = {"calls_s": round(rate), "p50": round(p50, 2), "p99": round(p99, 2), "cpu_us": round(searcher)}
    ratios = [
        busy.times.p99 / quiet.times.p99
        for quiet, busy in zip(rates["searches, 1 caller"], rates["the same, indexing"], strict=True)
    ]
    print(f"searches by 8 callers: {figures['searches, 8 callers']['calls_s']:,} a second, goal {_GOAL_RATE:,}")
    spread = f"{statistics.median(ratios):.1f} ({min(ratios):.1f}–{max(ratios):.1f})"
    print(f"p99 while indexing: {spread} times that without indexing, goal {_GOAL_P99:g}")
    return {**figures, "indexing_p99_ratio": round(statistics.median(ratios), 2)}
