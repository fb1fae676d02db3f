"""The second part of `make bench-moderation`: speed of moderation."""

from __future__ import annotations

from typing import Final

from bench.kit.report import Report, Spread, ratios
from bench.kit.running import size_of
from bench.moderation.feed_way import measure_feed_way
from bench.moderation.flow import measure_callbacks, measure_comments, measure_rate, measure_users
from classifeed_moderation.settings import ModerationSettings

_SEED_TEXTS: Final = 300
_TEXTS: Final = 30_000
_CALLBACKS: Final = 20_000
_ROUNDS: Final = size_of("BENCH_MODERATION_ROUNDS", 5)
_USER_REQUESTS: Final = 3_000


def show_flow(report: Report) -> None:
    """Measure and report all."""
    _show_rate(report)
    _show_users(report)
    for keys_each in (1, 100):
        rates = [measure_callbacks(keys_each, _CALLBACKS) for _ in range(min(_ROUNDS, 3))]
        report.at_least(f"verdicts/s by callback, {keys_each} a callback", Spread(rates), 2_000)
    for side, seconds in measure_comments().items():
        report.show(f"seconds from a comment to its decision, {side}", Spread(seconds))
    sides = measure_feed_way(min(_ROUNDS, 3))
    report.ratio("offers/s of a load, texts judged meanwhile / approved", sides["judged"], sides["approved"], 0.8)


def _show_rate(report: Report) -> None:
    workers = ModerationSettings.model_fields["workers"].default
    seed = measure_rate(_SEED_TEXTS, WORKERS=4)
    single = Spread([measure_rate(_TEXTS) for _ in range(_ROUNDS)])
    report.show("texts/s, 4 workers, one text a request", seed)
    report.show(f"texts/s, {workers} workers, one text a request", single, f"{single.median / seed:.0f} times that")
    batches = [measure_rate(_TEXTS, VERDICT_BATCH=50) for _ in range(_ROUNDS)]
    report.show(f"texts/s, {workers} workers, 50 texts a request", Spread(batches))


def _show_users(report: Report) -> None:
    """Report CreatePoint of 4 users, quiet, and with the verdict service away and the queue full."""
    rounds = measure_users(_ROUNDS, _USER_REQUESTS)
    for name in rounds[0]:
        report.show(f"CreatePoint ms, {name}", Spread([each[name] * 1000 for each in rounds]))
    away, quiet = ([each[f"{side}_p99"] for each in rounds] for side in ("away", "quiet"))
    report.at_most("CreatePoint, p99 away / quiet", ratios(away, quiet), 1.2)
