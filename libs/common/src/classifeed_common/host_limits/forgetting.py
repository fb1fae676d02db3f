"""Removal of hosts that get no requests any more."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from classifeed_common.db import Tx, load_queries

_FORGET: Final = load_queries("classifeed_common.host_limits")["forget"]
_IDLE: Final = timedelta(days=30)


async def forget_hosts(tx: Tx, at: datetime, limit: int, *, idle: timedelta = _IDLE) -> int:
    """Remove at most `limit` hosts without requests for `idle`; return their number."""
    return (await tx.execute(_FORGET, {"before": at - idle, "limit": limit})).rowcount
