"""`make bench-moderation`: quality and speed of cleanweb's automatic rules, then the speed of moderation.

BENCH_MODERATION_PARTS=automatics or flow runs one of the two parts.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import Final

from tools.arguments import parse

from bench.kit.report import Report, Spread, by_name
from bench.moderation.quality import CATEGORIES, Quality, measure
from bench.moderation.real_texts import real_texts
from bench.moderation.report import show_flow
from bench.moderation.speed import LENGTH, rate, texts
from classifeed_cleanweb.automatics import LOW_SCORE, Automatics
from classifeed_cleanweb.rules.loading import packaged_rules

_GOAL: Final = 20_000
_PARTS: Final = os.environ.get("BENCH_MODERATION_PARTS", "automatics,flow").split(",")
_SET: Final = os.environ.get("BENCH_MODERATION_SET", "frozen")


def show_quality(report: Report, quality: Quality) -> None:
    """Report the quality on a labelled set, after a line for each text that was judged wrongly."""
    for line in quality.examples:
        print(line)
    report.table(
        f"{quality.texts.total()} texts of the set `{_SET}`, {quality.texts[True]} of them clean",
        ["precision", "recall", "right", "wrong", "missed"],
        {
            category: (
                *quality.rates(category),
                quality.right[category],
                quality.wrong[category],
                quality.missed[category],
            )
            for category in CATEGORIES
        },
    )
    ways = {way: found[True] / found.total() for way, found in sorted(quality.by_way.items())}
    report.show("recall by the way of hiding", by_name(ways))
    report.show("found words with an exact span", quality.placed[True], f"of {quality.placed.total()}")
    report.show(
        f"auto_pass (nothing found, score < {LOW_SCORE})",
        f"{quality.passed[True]} of {quality.texts[True]} clean texts",
        f"{quality.passed[False]} of {quality.texts[False]} others",
    )


def show_real(report: Report, automatics: Automatics) -> None:
    """Report how many real texts have findings; real texts have no labels."""
    real = real_texts()
    if not real:
        print("real feeds: skipped, the folder is not there (CLASSIFEED_SHARED_DATA)")
        return
    by_verdict: Counter[str] = Counter()
    passed = 0
    for text in real:
        found = automatics.judge(text, (225,), "offer")
        by_verdict.update({one.verdict_name for one in found.findings})
        passed += not found.findings and found.score < LOW_SCORE
    report.show("titles and descriptions of real feeds", len(real))
    percents = {verdict: 100 * by_verdict[verdict] / len(real) for verdict in CATEGORIES.values()}
    report.show("  % with a finding", by_name(percents))
    report.show("  % that auto_pass approves", 100 * passed / len(real))


def show_automatics(report: Report) -> None:
    """Measure and report the automatic rules."""
    began = time.perf_counter()
    automatics = Automatics.load(packaged_rules())
    load_s = time.perf_counter() - began
    show_quality(report, measure(automatics, _SET))
    show_real(report, automatics)
    report.show("terms, seconds to load them", automatics.size, load_s)
    report.at_least(f"texts/s of a core, {LENGTH} characters each", Spread(rate(automatics, texts())), _GOAL)


def main() -> None:
    """Measure and report."""
    parse(__doc__)
    report = Report("moderation", set=_SET)
    if "automatics" in _PARTS:
        show_automatics(report)
    if "flow" in _PARTS:
        show_flow(report)
    report.finish()


if __name__ == "__main__":
    main()
