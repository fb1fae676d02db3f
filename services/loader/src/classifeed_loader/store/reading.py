"""Reads of fetches for the gRPC service."""

from __future__ import annotations

from typing import Any, Final

from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_loader.domain.fetches import NOT_MODIFIED, FetchKey

_SQL: Final = load_queries(__package__, "reading.sql")


async def find_fetch(tx: Tx, key: FetchKey) -> Fetch | None:
    """Return one fetch; None if there is none."""
    rows = await fetch_named(tx, _SQL["find_fetch"], key._asdict())
    return fetch_message(rows[0]) if rows else None


async def list_fetches(tx: Tx, seller_id: str, namespace: str, *, before: int, limit: int) -> list[Fetch]:
    """Return fetches of a namespace with ids below `before`, newest first."""
    parameters = {"seller_id": seller_id, "namespace": namespace, "before": before, "limit": limit}
    return [fetch_message(row) for row in await fetch_named(tx, _SQL["list_fetches"], parameters)]


def fetch_message(row: Any) -> Fetch:
    """Build a Fetch from a row, by the column names of `feed_fetches`."""
    key = FetchKey(row.seller_id, row.namespace, row.feed_loader_result_id)
    fetch = Fetch(
        name=key.name,
        seller_id=key.seller_id,
        namespace=key.namespace,
        fetch_id=key.fetch_id,
        feed_version=row.feed_version,
        trigger=row.trigger,
        forced=row.forced,
        outcome=row.outcome,
        code=row.code,
        message=row.message,
        http_status=row.http_status,
        bytes=row.bytes,
        sha256=row.sha256,
        final_url=row.final_url,
        task=row.task,
    )
    fetch.create_time.FromDatetime(row.created_at)
    if row.started_at is not None:
        fetch.start_time.FromDatetime(row.started_at)
    if row.downloaded_at is not None and fetch.http_status != NOT_MODIFIED:
        fetch.download_time.FromDatetime(row.downloaded_at)
    if row.ended_at is not None:
        fetch.end_time.FromDatetime(row.ended_at)
    return fetch
