"""Queries of the clean-up."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import feed_pb2
from classifeed_common.db import Tx, load_queries
from classifeed_loader.domain.fetches import FetchKey

_SQL: Final = load_queries(__package__, "cleaning.sql")


async def list_ended(tx: Tx, after: FetchKey, limit: int) -> list[tuple[FetchKey, str]]:
    """Return the next removable fetches after `after`, each with the name of the task that it created; empty: none."""
    parameters = {
        **after._asdict(),
        "limit": limit,
        "loaded": feed_pb2.FETCH_OUTCOME_LOADED,
        "removed": feed_pb2.FEED_STATUS_REMOVED,
    }
    return [(FetchKey(*row[:3]), row[3]) for row in await (await tx.execute(_SQL["list_ended"], parameters)).fetchall()]
