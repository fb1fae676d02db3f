"""Metrics of the process as JSON lines, for installations without a scraper of `/metrics`."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from datetime import tzinfo
from types import TracebackType
from typing import Any, Final, Self

from prometheus_client import REGISTRY
from prometheus_client.metrics_core import Metric

from classifeed_common.clock import stamp

_Series = tuple[tuple[str, str], ...]
_INTERVAL_S: Final = 60.0


class MetricFile:
    """Writes all metrics when its block begins, every `interval_s` seconds, and when it ends, in a separate thread.

    Args:
        file: handler that writes the lines, such as a `RotatedFile`; closed at the end.
        service: name in each line.
        zone: time zone of the timestamps.
        interval_s: seconds between two writes.
    """

    def __init__(self, file: logging.Handler, *, service: str, zone: tzinfo, interval_s: float = _INTERVAL_S) -> None:
        self._file = file
        self._service = service
        self._interval_s = interval_s
        self._zone = zone
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_until_ended, name="metric-file", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._file.close()

    def _write_until_ended(self) -> None:
        is_last = False
        while not is_last:
            self._write()
            is_last = self._ended.wait(self._interval_s)
        self._write()

    def _write(self) -> None:
        head = {
            "timestamp": stamp(self._zone),
            "service": self._service,
            "pid": os.getpid(),
        }
        lines = [json.dumps(head | series) for metric in REGISTRY.collect() for series in list_series(metric)]
        # One record, so that all lines of a write are together in one file.
        self._file.handle(logging.makeLogRecord({"msg": "\n".join(lines)}))


def list_series(metric: Metric) -> Iterator[dict[str, Any]]:
    """Yield each series of a metric with its value; for a histogram: count, sum, and buckets by upper bound."""
    found: dict[_Series, dict[str, Any]] = {}
    for sample in metric.samples:
        part = sample.name.removeprefix(metric.name)
        if part == "_created":
            continue
        labels = {name: value for name, value in sample.labels.items() if name != "le"}
        series = found.setdefault(tuple(labels.items()), {"name": metric.name, "type": metric.type, "labels": labels})
        if part == "_bucket":
            series.setdefault("buckets", {})[sample.labels["le"]] = sample.value
        elif part in {"_count", "_sum"}:
            series[part.removeprefix("_")] = sample.value
        else:
            series |= {"name": sample.name, "value": sample.value}
    yield from found.values()
