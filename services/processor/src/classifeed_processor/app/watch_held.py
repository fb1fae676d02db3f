"""Showing how many loads wait for a decision, and for how long."""

from __future__ import annotations

from typing import Final

from prometheus_client import Gauge

from classifeed_common.db import Tx
from classifeed_processor.store import reading

HELD: Final = Gauge("classifeed_processor_held_tasks", "Loads that wait for somebody to confirm or reject them.")
OLDEST_HELD: Final = Gauge(
    "classifeed_processor_held_oldest_age_seconds", "For how long the first of them has been waiting; 0 without any."
)


async def measure_held(tx: Tx) -> None:
    """Set the metrics to what the tables say."""
    count, seconds = await reading.count_held(tx)
    HELD.set(count)
    OLDEST_HELD.set(seconds)
