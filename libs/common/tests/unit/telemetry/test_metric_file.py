from __future__ import annotations

import json
import logging
import os
import threading
from typing import Any
from zoneinfo import ZoneInfo

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from classifeed_common.telemetry import metrics
from classifeed_common.telemetry.metric_file import MetricFile, list_series

MOSCOW = ZoneInfo("Europe/Moscow")


class Collected(logging.Handler):
    """Replaces a file, and reports when it has received enough writes."""

    def __init__(self, enough: int) -> None:
        super().__init__()
        self._enough = enough
        self.looks: list[list[dict[str, Any]]] = []
        self.has_enough = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.looks.append([json.loads(line) for line in record.getMessage().splitlines()])
        if len(self.looks) == self._enough:
            self.has_enough.set()


def test_the_first_look_is_at_the_start_and_the_last_one_at_the_end() -> None:
    failures = metrics.ROLE_FAILURES.labels("of-metric-file")
    collected = Collected(1)
    with MetricFile(collected, service="shop", interval_s=3600, zone=MOSCOW):
        assert collected.has_enough.wait(60)
        failures.inc(3)
    found = [[line for line in look if line["labels"] == {"role": "of-metric-file"}][-1] for look in collected.looks]
    assert [line["value"] for line in found] == [0, 3]
    assert (found[0]["service"], found[0]["pid"], found[0]["name"], found[0]["type"]) == (
        "shop", os.getpid(), "classifeed_role_failures_total", "counter",
    )  # fmt: skip
    assert found[0]["timestamp"].endswith("+03:00")


def test_looks_come_again_and_again() -> None:
    collected = Collected(4)
    with MetricFile(collected, service="shop", interval_s=0.01, zone=MOSCOW):
        assert collected.has_enough.wait(60)


def test_a_series_is_one_line_whatever_its_kind() -> None:
    registry = CollectorRegistry()
    Counter("asked", "x", ["queue"], registry=registry).labels("a").inc(2)
    Gauge("depth", "x", registry=registry).set(7)
    seconds = Histogram("run_seconds", "x", ["task"], buckets=(1, 5), registry=registry)
    for value in (0.5, 3, 30):
        seconds.labels("noop").observe(value)
    series = [line for metric in registry.collect() for line in list_series(metric)]
    assert series == [
        {"name": "asked_total", "type": "counter", "labels": {"queue": "a"}, "value": 2},
        {"name": "depth", "type": "gauge", "labels": {}, "value": 7},
        {
            "name": "run_seconds",
            "type": "histogram",
            "labels": {"task": "noop"},
            "buckets": {"1.0": 1, "5.0": 2, "+Inf": 3},
            "count": 3,
            "sum": 33.5,
        },
    ]
