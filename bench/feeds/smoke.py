"""CPU of a new offer in all services, as a multiple of bare lxml in the same run; small enough for CI."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.e2e.suite import Suite

from bench.feeds.whole_way import measure_load
from bench.kit.generated_feed import write_feed
from bench.kit.running import cpu_of_services, measure_in_process

OFFERS: Final = 5_000
_READS: Final = 5
_IDLE_S: Final = 3.0
_COMMITTED: Final = Path(__file__).with_name("ratio.json")


@dataclass(frozen=True)
class Smoke:
    """CPU of a new offer.

    Attributes:
        by_service: CPU of each service, in µs an offer, without its idle CPU.
        lxml_us: CPU of bare lxml reading the same file, in µs an offer.
        committed: The ratio of both that the repository records.
    """

    by_service: Mapping[str, float]
    lxml_us: float
    committed: float

    @property
    def services_us(self) -> float:
        """Return the CPU of all services together, in µs an offer."""
        return sum(self.by_service.values())

    @property
    def ratio(self) -> float:
        """Return the CPU of the services divided by that of bare lxml."""
        return self.services_us / self.lxml_us

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {value:.0f}" for name, value in self.by_service.items())
        return (
            f"CPU of a new offer: {self.services_us:.0f} µs of all services, {self.lxml_us:.1f} µs of bare lxml: "
            f"{self.ratio:.0f} times (committed: {self.committed:.0f}); {parts}"
        )


def measure_smoke(suite: Suite, folder: Path, seller: str) -> Smoke:
    """Load a small file and return its CPU; bare lxml is measured before and after."""
    file = write_feed(folder / "smoke.yml", OFFERS)
    read = [_read_bare(file) for _ in range(_READS)]
    suite.settle()
    idle = _idle_cpu_s(suite)
    load = measure_load(suite, file, seller, "added")
    read += [_read_bare(file) for _ in range(_READS)]
    services = {name: value - idle[name] * load.drained_s / OFFERS * 1e6 for name, value in load.cpu_us.items()}
    return Smoke(services, statistics.median(read), float(json.loads(_COMMITTED.read_text())["cpu_ratio_to_lxml"]))


def _read_bare(file: Path) -> float:
    """Return the CPU of bare lxml, in µs an offer."""
    found = measure_in_process("bench.feeds.reading", "bare", file)
    return float(found["cpu_s"] / found["offers"] * 1e6)


def _idle_cpu_s(suite: Suite) -> dict[str, float]:
    """Return the CPU of each idle service, in seconds per second."""
    before, began = cpu_of_services(suite), time.monotonic()
    time.sleep(_IDLE_S)
    after, waited_s = cpu_of_services(suite), time.monotonic() - began
    return {name: (after[name] - before[name]) / waited_s for name in before}
