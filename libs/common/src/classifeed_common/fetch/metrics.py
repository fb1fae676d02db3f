"""Metrics of downloads, with a bounded number of host labels."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from classifeed_common.telemetry.metric_set import MetricSet

METRICS: Final = MetricSet()

OK: Final = "OK"
OTHER: Final = "other"
_CODE: Final = "`OK` (unchanged files too), or the code of the failure, as in `FETCH_FAULTS`"
_HOST: Final = "name of the host, of the busiest 50; `other`: all the rest together"
_HOSTS: Final = 50
_CANDIDATES_PER_HOST: Final = 10
_PERIOD_S: Final = 600.0

FETCH_DOWNLOADS: Final = METRICS.counter(
    "classifeed_fetch_downloads_total",
    "Downloads from URLs that users name, by result code.",
    unit="downloads",
    labels={"code": _CODE},
)
FETCH_HOST_DOWNLOADS: Final = METRICS.counter(
    "classifeed_fetch_host_downloads_total",
    "Downloads by the last requested host. A host that is no longer among the busiest loses its series.",
    unit="downloads",
    labels={"busiest_host": _HOST, "code": _CODE},
)
FETCH_RECEIVED: Final = METRICS.counter(
    "classifeed_fetch_received_bytes_total",
    "Bytes of bodies as they travelled, of downloads that failed too, by host as above.",
    unit="bytes",
    labels={"busiest_host": _HOST},
)
FETCH_CONNECTIONS: Final = METRICS.counter(
    "classifeed_fetch_connections_total",
    "Connections that requests went over.",
    unit="requests",
    labels={"use": ("new", "kept")},
)


class BusiestHosts:
    """Chooses the hosts that have their own label: a bounded number, which changes at most once per period.

    A new host gets a label at once while labels are left. At the end of a period the labels go to the hosts with the
    most downloads; each period halves the weight of earlier downloads.

    Args:
        size: number of hosts with a label.
        on_leave: called with each host that has lost its label.
        now_s: monotonic clock, in seconds.
    """

    def __init__(
        self,
        size: int = _HOSTS,
        *,
        on_leave: Callable[[str], object] = lambda _: None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size = size
        self._on_leave = on_leave
        self._now_s = now_s
        self._counts: Counter[str] = Counter()
        self._labelled: set[str] = set()
        self._next_s = now_s() + _PERIOD_S

    def label(self, host: str) -> str:
        """Count a download of a host and return its label."""
        if self._now_s() >= self._next_s:
            self._next_s = self._now_s() + _PERIOD_S
            self._rank()
        if host in self._counts or len(self._counts) < self._size * _CANDIDATES_PER_HOST:
            self._counts[host] += 2  # so that one download outlives one period
        if host not in self._labelled:
            if len(self._labelled) >= self._size:
                return OTHER
            self._labelled.add(host)
        return host

    def _rank(self) -> None:
        busiest = {host for host, _ in self._counts.most_common(self._size)}
        for host in self._labelled - busiest:
            self._on_leave(host)
        self._labelled = busiest
        self._counts = Counter({host: count // 2 for host, count in self._counts.items() if count > 1})


class DownloadCounts:
    """Counts downloads by code and host; one instance for all fetchers of a process, like the metrics."""

    def __init__(self) -> None:
        self._hosts = BusiestHosts(on_leave=self._leave)
        self._codes: dict[str, set[str]] = {}

    def count(self, host: str | None, code: str, received_bytes: int) -> None:
        """Count a download.

        Args:
            host: last requested host; None: the URL was refused before it had one.
            code: `OK` or a key of `FETCH_FAULTS`.
            received_bytes: size of its last body.
        """
        FETCH_DOWNLOADS.labels(code).inc()
        if host is None:
            return
        label = self._hosts.label(host)
        self._codes.setdefault(label, set()).add(code)
        FETCH_HOST_DOWNLOADS.labels(label, code).inc()
        FETCH_RECEIVED.labels(label).inc(received_bytes)

    def _leave(self, host: str) -> None:
        for code in self._codes.pop(host, ()):
            FETCH_HOST_DOWNLOADS.remove(host, code)
        FETCH_RECEIVED.remove(host)


DOWNLOADS: Final = DownloadCounts()
