"""Reads of fetches for the gRPC service."""

from __future__ import annotations

from typing import Any

from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed_common.db import Tx, load_queries
from classifeed_loader.domain.fetches import NOT_MODIFIED, FetchKey

_SQL = load_queries(__package__, "reading.sql")
_GET_FETCH = _SQL["get_fetch"]
_LIST_FETCHES = _SQL["list_fetches"]


async def get_fetch(tx: Tx, key: FetchKey) -> Fetch | None:
    """Return one fetch; None when there is none."""
    row = await (await tx.execute(_GET_FETCH, key._asdict())).fetchone()
    return None if row is None else fetch_message(row)


async def list_fetches(tx: Tx, seller_id: str, namespace: str, *, before: int, limit: int) -> list[Fetch]:
    """Return fetches of a namespace with smaller numbers than `before`, the newest first."""
    parameters = {"seller_id": seller_id, "namespace": namespace, "before": before, "limit": limit}
    return [fetch_message(row) for row in await (await tx.execute(_LIST_FETCHES, parameters)).fetchall()]


def fetch_message(row: tuple[Any, ...]) -> Fetch:
    """Make a fetch of the columns that the queries select."""
    key = FetchKey(*row[:3])
    fetch = Fetch(
        name=key.name,
        seller_id=key.seller_id,
        namespace=key.namespace,
        fetch_id=key.fetch_id,
        feed_version=row[3],
        trigger=row[4],
        forced=row[5],
        outcome=row[6],
        code=row[7],
        message=row[8],
        http_status=row[9],
        bytes=row[10],
        sha256=row[11],
        final_url=row[12],
        task=row[13],
    )
    created_at, started_at, downloaded_at, ended_at = row[14:]
    fetch.create_time.FromDatetime(created_at)
    if started_at is not None:
        fetch.start_time.FromDatetime(started_at)
    if downloaded_at is not None and fetch.http_status != NOT_MODIFIED:
        fetch.download_time.FromDatetime(downloaded_at)
    if ended_at is not None:
        fetch.end_time.FromDatetime(ended_at)
    return fetch
