"""Log lines and metrics of a load; the metrics are those of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.kit.generated_feed import write_feed

from tests.e2e.metrics import check_metrics
from tests.e2e.suite import Suite

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]
_ENUMS = ("status", "outcome", "kind", "phase", "decision", "mode", "disposition")
_MOVED = {
    "classifeed_loads_total": "processor",
    "classifeed_load_duration_seconds_count": "processor",
    "classifeed_load_read_bytes_total": "processor",
    "classifeed_offers_total": "processor",
    "classifeed_time_to_searchable_seconds_count": "searcher",
}


def lines_of(suite: Suite, *options: str) -> list[dict[str, Any]]:
    """Return the JSON log lines of all services."""
    result = suite.run("logs", "-n", "10000", *options)
    assert result.exit_code == 0, result.document
    return [line for line in result.document["lines"] if "timestamp" in line]


def figures(suite: Suite) -> dict[str, float]:
    return {name: suite.metric(service, name) for name, service in _MOVED.items()}


def test_a_load_is_reported_by_logs_and_metrics(suite: Suite, seller: str, tmp_path: Path) -> None:
    path = tmp_path / "feed.xml"
    write_feed(path, 30)
    before = figures(suite)
    task = suite.upload(path, seller).document

    def lines_of_load() -> list[dict[str, Any]]:
        return lines_of(suite, "--task", f"{seller}/{task['namespace']}/{task['task_id']}")

    # The line is written after the commit that the command has seen.
    suite.wait(lambda: any(line["event"] == "feeds.load.ended" for line in lines_of_load()), 60, "the end is logged")
    lines = lines_of_load()
    assert {line["timestamp"][-1] for line in lines_of(suite)} == {"Z"}, "although TIMEZONE is that of Tokyo"
    [started, ended] = [line for line in lines if line["event"] in {"feeds.load.started", "feeds.load.ended"}]
    assert (started["event"], started["source"], started["kind"]) == ("feeds.load.started", "upload", "load")
    assert started["bytes"] == path.stat().st_size
    assert (ended["status"], ended["total"], ended["added"], ended["rejected"]) == ("succeeded", 30, 30, 0)
    assert ended["duration_s"] > 0
    numbers = [(line["event"], name) for line in lines for name in _ENUMS if isinstance(line.get(name), int)]
    assert numbers == []
    suite.settle()
    grown = {name: value - before[name] for name, value in figures(suite).items()}
    # Other tests may have left work that is counted now.
    assert grown["classifeed_loads_total"] >= grown["classifeed_load_duration_seconds_count"] >= 1
    assert grown["classifeed_load_read_bytes_total"] >= path.stat().st_size
    assert min(grown["classifeed_offers_total"], grown["classifeed_time_to_searchable_seconds_count"]) >= 30
    for service in suite.services:
        check_metrics(suite, service)
