"""A load through the whole suite, from the upload to the search, with the CPU time of every process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.e2e.suite import Suite

from bench.feeds.reading import peak_mb
from bench.processes import cpu_of_tree


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
        _per_offer(before, after, offers),
        _per_offer(servers_before, servers_after, offers),
        _memory(suite),
    )


def _per_offer(before: dict[str, float], after: dict[str, float], offers: int) -> dict[str, float]:
    """Return the CPU of each process between two readings, in µs an offer."""
    return {name: (after[name] - before[name]) / offers * 1e6 for name in before}


def _seconds(task: dict[str, Any]) -> float:
    """Return the seconds from the creation of a task to its end. The sum of its stages is larger: they overlap."""
    return (datetime.fromisoformat(task["end_time"]) - datetime.fromisoformat(task["create_time"])).total_seconds()


def _pids(suite: Suite) -> dict[str, list[int]]:
    status = suite.status()
    return {name: sorted(set(service["pids"].values())) for name, service in status["services"].items()}


def cpu_of_services(suite: Suite) -> dict[str, float]:
    """Return the seconds of CPU that each service and its child processes have used so far."""
    return {name: sum(map(cpu_of_tree, pids)) for name, pids in _pids(suite).items()}


def cpu_of_servers(suite: Suite) -> dict[str, float]:
    """Return the seconds of CPU that PostgreSQL, Kafka and S3 have used so far."""
    return {name: cpu_of_tree(int(part["pid"])) for name, part in suite.status()["parts"].items()}


def _memory(suite: Suite) -> dict[str, float]:
    return {name: sum(map(peak_mb, pids)) for name, pids in _pids(suite).items()}
