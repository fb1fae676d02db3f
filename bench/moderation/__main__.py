"""`make bench-moderation`: quality and speed of cleanweb's automatic rules, then the speed of moderation.

BENCH_MODERATION_PARTS=automatics or flow runs one of the two parts.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections import Counter

from tools.arguments import parse

from bench.moderation.quality import CATEGORIES, Quality, measure
from bench.moderation.real_texts import real_texts
from bench.moderation.report import show_flow
from bench.moderation.speed import LENGTH, rate, texts
from classifeed_cleanweb.automatics import LOW_SCORE, Automatics
from classifeed_cleanweb.rules.loading import packaged_rules

_GOAL = 20_000
_PARTS = os.environ.get("BENCH_MODERATION_PARTS", "automatics,flow").split(",")
_SET = os.environ.get("BENCH_MODERATION_SET", "frozen")


def show_quality(quality: Quality) -> dict[str, dict[str, float]]:
    """Print the tables of quality and return its figures."""
    for line in quality.examples:
        print(line)
    print(f"\n{quality.texts.total()} texts of the set `{_SET}`, {quality.texts[True]} of them clean")
    print(f"{'category':<10} {'precision':>9} {'recall':>7} {'right':>6} {'wrong':>6} {'missed':>7}")
    figures = {}
    for category in CATEGORIES:
        precision, recall = quality.rates(category)
        figures[category] = {"precision": round(precision, 4), "recall": round(recall, 4)}
        counts = (quality.right[category], quality.wrong[category], quality.missed[category])
        print(f"{category:<10} {precision:>9.3f} {recall:>7.3f} {counts[0]:>6} {counts[1]:>6} {counts[2]:>7}")
    ways = ", ".join(f"{way} {found[True] / found.total():.2f}" for way, found in sorted(quality.by_way.items()))
    print(f"recall by the way of hiding: {ways}")
    print(f"spans of found words that are exact: {quality.placed[True]} of {quality.placed.total()}")
    print(
        f"auto_pass (nothing found, score < {LOW_SCORE}): {quality.passed[True]} of {quality.texts[True]} clean texts,"
        f" {quality.passed[False]} of {quality.texts[False]} others"
    )
    return figures


def show_real(automatics: Automatics) -> dict[str, float]:
    """Print how many real texts have findings; real texts have no labels."""
    real = real_texts()
    if not real:
        print("real feeds: skipped, the folder is not there (CLASSIFEED_SHARED_DATA)")
        return {}
    by_verdict: Counter[str] = Counter()
    passed = 0
    for text in real:
        found = automatics.judge(text, (225,), "offer")
        by_verdict.update({one.verdict_name for one in found.findings})
        passed += not found.findings and found.score < LOW_SCORE
    shares = {verdict: by_verdict[verdict] / len(real) for verdict in CATEGORIES.values()}
    print(f"real feeds: {len(real)} titles and descriptions; with a finding, by verdict:")
    print("  " + ", ".join(f"{verdict} {100 * share:.2f} %" for verdict, share in shares.items()))
    print(f"  auto_pass lets {100 * passed / len(real):.1f} % through")
    return {verdict: round(share, 5) for verdict, share in shares.items()}


def show_automatics() -> dict[str, object]:
    """Print the tables of the automatic rules and return their figures."""
    began = time.perf_counter()
    automatics = Automatics.load(packaged_rules())
    load_s = time.perf_counter() - began
    figures = show_quality(measure(automatics, _SET))
    real = show_real(automatics)
    rates = rate(automatics, texts())
    middle = statistics.median(rates)
    print(f"loading {automatics.size} terms: {load_s:.2f} s")
    print(f"speed, {LENGTH} characters a text: {middle:,.0f} texts/s of a core ({min(rates):,.0f}–{max(rates):,.0f})")
    print(f"goal of {_GOAL:,}: {'met' if middle >= _GOAL else 'MISSED'}")
    counts = {"terms": automatics.size, "automatics_s": round(middle), "load_s": round(load_s, 3)}
    return {"set": _SET, "quality": figures, "real": real, **counts}


def main() -> int:
    """Measure and print."""
    parse(__doc__)
    figures: dict[str, object] = {"bench": "moderation"}
    if "automatics" in _PARTS:
        figures |= show_automatics()
    if "flow" in _PARTS:
        figures |= show_flow()
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
