"""Queries that queue fetches. Each function runs in the caller's transaction."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import feed_pb2
from classifeed_common.db import Tx, load_queries
from classifeed_loader.domain.fetches import FetchKey

_SQL: Final = load_queries(__package__, "queueing.sql")

_COUNT_LIMIT: Final = 100_000
_QUEUED: Final = {"queued": feed_pb2.FETCH_OUTCOME_QUEUED}


async def queue_due(tx: Tx, *, limit: int, min_interval_s: float) -> list[FetchKey]:
    """Insert fetches of at most `limit` due sources, oldest first, and move each source to its next slot."""
    parameters = {
        **_QUEUED,
        "schedule": feed_pb2.FETCH_TRIGGER_SCHEDULE,
        "limit": limit,
        "min_interval_s": min_interval_s,
    }
    rows = await (await tx.execute(_SQL["queue_due"], parameters)).fetchall()
    return sorted((FetchKey(*row) for row in rows), key=lambda key: key.fetch_id)


async def next_due_s(tx: Tx) -> float | None:
    """Return the seconds until the next source is due, negative if one is overdue; None if nothing is scheduled."""
    row = await (await tx.execute(_SQL["next_due"])).fetchone()
    return None if row is None else row[0]


async def count_due(tx: Tx) -> int:
    """Return the number of due sources, counted up to 100,000."""
    row = await (await tx.execute(_SQL["count_due"], {"limit": _COUNT_LIMIT})).fetchone()
    return 0 if row is None else int(row[0])


async def insert_request(
    tx: Tx, seller_id: str, namespace: str, *, feed_version: int, forced: bool, request_id: str
) -> FetchKey | None:
    """Insert the requested fetch; return None if the request created one before."""
    parameters = {
        **_QUEUED,
        "request": feed_pb2.FETCH_TRIGGER_REQUEST,
        "seller_id": seller_id,
        "namespace": namespace,
        "feed_version": feed_version,
        "forced": forced,
        "request_id": request_id,
    }
    row = await (await tx.execute(_SQL["insert_request"], parameters)).fetchone()
    return None if row is None else FetchKey(*row)


async def find_request(tx: Tx, seller_id: str, request_id: str) -> FetchKey | None:
    """Return the fetch that a request created; None if there is none."""
    row = await (await tx.execute(_SQL["find_request"], {"seller_id": seller_id, "request_id": request_id})).fetchone()
    return None if row is None else FetchKey(*row)
