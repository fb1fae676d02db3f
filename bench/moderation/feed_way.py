"""Load of a feed whose texts are judged meanwhile, compared with texts that a setting approves."""

from __future__ import annotations

from typing import Final

from bench.feeds.whole_way import measure_load
from bench.kit.generated_feed import write_feed
from bench.kit.running import running_suite, size_of

_OFFERS: Final = size_of("BENCH_MODERATION_OFFERS", 20_000)
_SETTING: Final = "CLASSIFEED_OFFERS_TEXTS_APPROVED_BY_SETTING"


def measure_feed_way(rounds: int) -> dict[str, list[float]]:
    """Return offers a second until the result of a load, by side; each round has a new suite."""
    rates: dict[str, list[float]] = {"approved": [], "judged": []}
    for _ in range(rounds):
        for side, found in rates.items():
            with running_suite({_SETTING: str(side == "approved").lower()}) as (suite, folder):
                measure_load(suite, write_feed(folder / "warm.yml", 2_000), "warm", "added")
                file = write_feed(folder / "feed.yml", _OFFERS)
                found.append(measure_load(suite, file, "seller", "added").rate)
    return rates
