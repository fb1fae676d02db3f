"""Measure the number of open and held loads, and the age of the oldest held one."""

from __future__ import annotations

from classifeed_common.db import Tx
from classifeed_processor.metrics import HELD, OLDEST_HELD, OPEN
from classifeed_processor.store import reading


async def measure_loads(tx: Tx) -> None:
    """Set the metrics of open and held loads from the tables."""
    count, seconds = await reading.count_held(tx)
    HELD.set(count)
    OLDEST_HELD.set(seconds)
    OPEN.set(await reading.count_open(tx))
