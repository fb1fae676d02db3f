"""LagGauges: gauges of a consumer's lag, measured at the brokers; without a measurement there is no gauge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from classifeed_common.errors import Unavailable
from classifeed_common.kafka.positions import GroupPartition, Position
from classifeed_common.kafka.topics.cluster import Cluster
from classifeed_common.telemetry import metrics

_EVERY_S: Final = 5.0


class LagGauges:
    """The gauges of our partitions. A gauge is removed when its partition leaves us or cannot be measured.

    Attributes:
        measured: number of unhandled records of each partition, at the last measurement.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._measuring: asyncio.Task[None] | None = None
        self._next_s = 0.0
        self.measured: dict[GroupPartition, int] = {}
        self._begun_ms: dict[GroupPartition, int] = {}

    def begin(self, part: GroupPartition, timestamp_ms: int) -> None:
        """Record the timestamp of the record that is handled now."""
        self._begun_ms[part] = timestamp_ms

    def measure(
        self, positions: Mapping[GroupPartition, Position], blocked_ages_s: Mapping[GroupPartition, float]
    ) -> None:
        """Measure every few seconds, in the background.

        Args:
            positions: positions of our partitions.
            blocked_ages_s: age in seconds of the next record of each blocked partition.
        """
        is_running = self._measuring is not None and not self._measuring.done()
        if not is_running and time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _EVERY_S
            self._measuring = asyncio.create_task(self._measure(dict(positions), dict(blocked_ages_s)))

    def clear(self) -> None:
        """Remove all gauges: no partition is ours now."""
        self._begun_ms.clear()
        self._remove(set(self.measured))
        self._next_s = 0.0

    async def close(self) -> None:
        """Stop measuring, and remove all gauges."""
        if self._measuring is not None:
            self._measuring.cancel()
            await asyncio.wait({self._measuring})
        self.clear()

    async def _measure(
        self, positions: Mapping[GroupPartition, Position], blocked_ages_s: Mapping[GroupPartition, float]
    ) -> None:
        try:
            ends = await self._cluster.ends([part[1:] for part in positions])
        except Unavailable:
            ends = {}
        self._remove({part for part in self.measured if part[1:] not in ends})
        now_ms = time.time() * 1000
        for part, position in positions.items():
            if part[1:] not in ends:
                continue
            labels = (part.group, part.topic, str(part.partition))
            lag = max(0, ends[part[1:]] - position.next)
            age_s = blocked_ages_s.get(part, max(0.0, now_ms - self._begun_ms.get(part, now_ms)) / 1000)
            metrics.PARTITION_LAG.labels(*labels).set(lag)
            metrics.OLDEST_AGE.labels(*labels).set(age_s if lag else 0.0)
            self.measured[part] = lag

    def _remove(self, parts: set[GroupPartition]) -> None:
        for part in parts:
            metrics.remove(metrics.PARTITION_LAG, part)
            metrics.remove(metrics.OLDEST_AGE, part)
            self.measured.pop(part, None)
