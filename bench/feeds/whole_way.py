"""A load through the whole suite, from the upload to the search, with the CPU time of every process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.e2e.suite import Suite

from bench.kit.cpu import spent
from bench.kit.running import cpu_of_servers, cpu_of_services, pids_of_services
from classifeed_devkit.testing.measuring.memory import peak_bytes


@dataclass(frozen=True)
class Load:
    """One load: offers, time to its result, time until all offers are searchable, and CPU and memory of each process.

    `server_us` is the CPU of PostgreSQL, Kafka and S3.
    """

    offers: int
    task_s: float
    drained_s: float
    cpu_us: dict[str, float]
    server_us: dict[str, float]
    rss_mb: dict[str, float]

    @property
    def rate(self) -> float:
        """Offers a second, to the terminal result."""
        return self.offers / self.task_s


def measure_load(suite: Suite, file: Path, seller: str, expect: str) -> Load:
    """Load a file and return its figures; the count named `expect` must include all offers."""
    before, servers_before = cpu_of_services(suite), cpu_of_servers(suite)
    started = time.perf_counter()
    result = suite.upload(file, seller, timeout_s=3000)
    if result.exit_code:
        raise RuntimeError(result.document)
    task = result.document
    suite.settle(timeout_s=3000)
    drained = time.perf_counter() - started
    after, servers_after = cpu_of_services(suite), cpu_of_servers(suite)
    offers = int(task["statistics"]["total"])
    if int(task["statistics"][expect]) != offers:
        raise RuntimeError(f"expected all {expect}: {task['statistics']}")
    return Load(
        offers,
        _seconds(task),
        drained,
        spent(before, after, offers),
        spent(servers_before, servers_after, offers),
        _memory(suite),
    )


def _seconds(task: dict[str, Any]) -> float:
    """Return the seconds from the creation of a task to its end. The sum of its stages is larger: they overlap."""
    return (datetime.fromisoformat(task["end_time"]) - datetime.fromisoformat(task["create_time"])).total_seconds()


def _memory(suite: Suite) -> dict[str, float]:
    return {name: sum(map(peak_bytes, pids)) / 1e6 for name, pids in pids_of_services(suite).items()}
