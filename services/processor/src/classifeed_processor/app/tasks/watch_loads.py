"""Showing how many loads are open, how many wait for a decision, and for how long."""

from __future__ import annotations

from classifeed_common.db import Tx
from classifeed_processor.metrics import HELD, OLDEST_HELD, OPEN
from classifeed_processor.store import reading


async def measure_loads(tx: Tx) -> None:
    """Set the metrics to what the tables say."""
    count, seconds = await reading.count_held(tx)
    HELD.set(count)
    OLDEST_HELD.set(seconds)
    OPEN.set(await reading.count_open(tx))
