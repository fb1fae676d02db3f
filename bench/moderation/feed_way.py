"""Load of a feed whose texts are judged meanwhile, compared with texts that a setting approves."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from tests.e2e.suite import Suite

from bench.feeds.whole_way import measure_load
from bench.generated_feed import write_feed

_OFFERS: Final = int(os.environ.get("BENCH_MODERATION_OFFERS", "20000"))


def measure_feed_way(rounds: int) -> dict[str, list[float]]:
    """Return offers a second until the result of a load, by side; each round has new sellers."""
    folder = Path(tempfile.mkdtemp(prefix="cf-bench-"))
    setting = "CLASSIFEED_OFFERS_TEXTS_APPROVED_BY_SETTING"
    file = write_feed(folder / "feed.yml", _OFFERS)
    rates: dict[str, list[float]] = {"approved": [], "judged": []}
    try:
        for number in range(rounds):
            for side, found in rates.items():
                suite = Suite(folder / f"{side}{number}", {setting: str(side == "approved").lower()})
                try:
                    suite.up()
                    measure_load(suite, write_feed(folder / "warm.yml", 2_000), "warm", "added")
                    found.append(measure_load(suite, file, f"seller{number}", "added").rate)
                finally:
                    suite.down()
                    shutil.rmtree(suite.data, ignore_errors=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rates
