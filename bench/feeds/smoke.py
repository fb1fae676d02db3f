"""What a new offer costs on its whole way, as a multiple of bare lxml in the same run; small enough for CI."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.e2e.suite import Suite

from bench.feeds.whole_way import cpu_of_services, measure_load
from bench.generated_feed import write_feed

OFFERS: Final = 5_000
_READS: Final = 5
_IDLE_S: Final = 3.0
_COMMITTED: Final = Path(__file__).with_name("ratio.json")


@dataclass(frozen=True)
class Smoke:
    """CPU of a new offer.

    Attributes:
        services_us: Of all services together, µs an offer, without what they use when nothing happens.
        lxml_us: Of bare lxml's reading of the same file, µs an offer.
        committed: The ratio of both that is committed.
    """

    services_us: float
    lxml_us: float
    committed: float

    @property
    def ratio(self) -> float:
        """Return how many times the services' CPU is that of bare lxml."""
        return self.services_us / self.lxml_us

    def __str__(self) -> str:
        return (
            f"CPU of a new offer: {self.services_us:.0f} µs of all services, {self.lxml_us:.1f} µs of bare lxml: "
            f"{self.ratio:.1f} times (committed: {self.committed:.1f})"
        )


def measure_smoke(suite: Suite, folder: Path, seller: str) -> Smoke:
    """Load a small file and return what it cost, beside bare lxml before and after."""
    file = write_feed(folder / "smoke.yml", OFFERS)
    read = [_read_bare(file) for _ in range(_READS)]
    suite.settle()
    idle = _idle_cpu_s(suite)
    load = measure_load(suite, file, seller, "added")
    read += [_read_bare(file) for _ in range(_READS)]
    services = sum(load.cpu_us.values()) - idle * load.drained_s / OFFERS * 1e6
    return Smoke(services, min(read), float(json.loads(_COMMITTED.read_text())["cpu_ratio_to_lxml"]))


def _read_bare(file: Path) -> float:
    """Return the CPU of bare lxml, µs an offer."""
    command = [sys.executable, "-m", "bench.feeds.reading", "bare", str(file)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return float(found["cpu_s"] / found["offers"] * 1e6)


def _idle_cpu_s(suite: Suite) -> float:
    """Return the seconds of CPU that the services use in a second in which nothing happens."""
    before, began = sum(cpu_of_services(suite).values()), time.monotonic()
    time.sleep(_IDLE_S)
    return (sum(cpu_of_services(suite).values()) - before) / (time.monotonic() - began)
