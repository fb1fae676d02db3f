"""The database's clock, which the engine uses for all times."""

from __future__ import annotations

from datetime import datetime

from classifeed_common.db import Tx


async def server_time(tx: Tx) -> datetime:
    """Return the database's current time, not the start time of the transaction."""
    row = await (await tx.execute("SELECT clock_timestamp()")).fetchone()
    assert row is not None
    now: datetime = row[0]
    return now
