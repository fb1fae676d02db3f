"""The tables of the second part of `make bench-moderation`: speed of moderation."""

from __future__ import annotations

import os
import statistics
from typing import Any, Final

from bench.moderation.feed_way import measure_feed_way
from bench.moderation.flow import measure_callbacks, measure_comments, measure_rate, measure_users
from classifeed_moderation.settings import ModerationSettings

_SEED_TEXTS: Final = 300
_TEXTS: Final = 30_000
_CALLBACKS: Final = 20_000
_ROUNDS: Final = int(os.environ.get("BENCH_MODERATION_ROUNDS", "5"))
_USER_REQUESTS: Final = 3_000


def show_flow() -> dict[str, Any]:
    """Print the tables and return the figures."""
    return {**_show_rate(), **_show_users(), **_show_callbacks(), **_show_comments(), **_show_feed_way()}


def _show_rate() -> dict[str, float]:
    seed = [measure_rate(_SEED_TEXTS, WORKERS=4)]
    single = [measure_rate(_TEXTS) for _ in range(_ROUNDS)]
    batches = [measure_rate(_TEXTS, VERDICT_BATCH=50) for _ in range(_ROUNDS)]
    workers = ModerationSettings.model_fields["workers"].default
    print("\ntexts/s of an instance, verdicts after 200 ms")
    for words, found in (("4 workers, one text a request", seed), (f"{workers} workers, one text a request", single),
                         (f"{workers} workers, 50 texts a request", batches)):  # fmt: skip
        print(f"  {words:<34} {statistics.median(found):>8,.0f} ({min(found):,.0f}–{max(found):,.0f})")
    ratio = statistics.median(single) / seed[0]
    print(f"  ratio of the second to the first: {ratio:.0f}")
    return {"seed_s": round(seed[0], 1), "texts_s": round(statistics.median(single)),
            "batched_texts_s": round(statistics.median(batches))}  # fmt: skip


def _show_users() -> dict[str, float]:
    rounds = measure_users(_ROUNDS, _USER_REQUESTS)
    ratios = [each["away_p99"] / each["quiet_p99"] for each in rounds]
    print("\nCreatePoint of 4 users, quiet and with the verdict service away and the queue full")
    for name in ("quiet_p50", "away_p50", "quiet_p99", "away_p99"):
        values = [each[name] * 1000 for each in rounds]
        print(f"  {name:<10} {statistics.median(values):>7.2f} ms ({min(values):.2f}–{max(values):.2f})")
    ratio = statistics.median(ratios)
    print(f"  ratio of p99: {ratio:.2f} ({min(ratios):.2f}–{max(ratios):.2f}), goal at most 1.2")
    return {"users_p99_ratio": round(ratio, 2)}


def _show_callbacks() -> dict[str, float]:
    print("\nverdicts/s by callback")
    figures: dict[str, float] = {}
    for keys_each in (1, 100):
        found = [measure_callbacks(keys_each, _CALLBACKS) for _ in range(min(_ROUNDS, 3))]
        middle = statistics.median(found)
        print(f"  {keys_each:>3} a callback: {middle:>8,.0f} ({min(found):,.0f}–{max(found):,.0f}), goal 2,000")
        figures[f"callbacks_{keys_each}_s"] = round(middle)
    return figures


def _show_comments() -> dict[str, float]:
    found = {side: sorted(values) for side, values in measure_comments().items()}
    print("\nseconds from a comment to its decision, verdicts after 0.2 s")
    for side, words in (("quiet", "alone"), ("beside", "during a million texts of offers")):
        values = found[side]
        print(f"  {words:<34} {statistics.median(values):.2f} (slowest {values[-1]:.2f})")
    return {f"comment_{side}_s": round(statistics.median(values), 3) for side, values in found.items()}


def _show_feed_way() -> dict[str, float]:
    sides = measure_feed_way(min(_ROUNDS, 3))
    ratios = [judged / approved for approved, judged in zip(sides["approved"], sides["judged"], strict=True)]
    print("\noffers/s of a load until its result, texts approved by a setting and judged meanwhile")
    for side, rates in sides.items():
        print(f"  {side:<10} {statistics.median(rates):>8,.0f} ({min(rates):,.0f}–{max(rates):,.0f})")
    ratio = statistics.median(ratios)
    print(f"  ratio: {ratio:.2f} ({min(ratios):.2f}–{max(ratios):.2f}), goal at least 0.8")
    return {"feed_way_ratio": round(ratio, 2)}
