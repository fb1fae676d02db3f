"""Queries of sources. Each function runs in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed.feeds.v1 import feed_pb2, load_pb2
from classifeed.feeds.v1.feed_pb2 import FeedSourceState
from classifeed.feeds.v1.feed_source_service_pb2 import SourceRecord
from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_loader.store.reading import fetch_message

_SQL: Final = load_queries(__package__, "sources.sql")

_DEFAULT_INTERVAL_S: Final = 3600.0


async def put(tx: Tx, sources: Sequence[SourceRecord], *, min_interval_s: float) -> list[int]:
    """Store sources, except those whose newer version is known; return the known version of each, in order."""
    names = {
        "seller_ids": [source.seller_id for source in sources],
        "namespaces": [source.namespace for source in sources],
    }
    columns = {
        "feed_versions": [source.feed_version for source in sources],
        "statuses": [source.status for source in sources],
        "urls": [source.url for source in sources],
        "credentials": [source.sealed_credentials for source in sources],
        "intervals_s": [_interval_s(source) for source in sources],
        "modes": [source.mode or load_pb2.LOAD_MODE_REPLACE for source in sources],
        "dispositions": [source.disposition or load_pb2.DISPOSITION_DELETE for source in sources],
        "formats": [source.format for source in sources],
        "currencies": [source.default_currency for source in sources],
    }
    bounds = {"active": feed_pb2.FEED_STATUS_ACTIVE, "min_interval_s": min_interval_s}
    await tx.execute(_SQL["put_sources"], {**names, **columns, **bounds})
    # A second statement, as it must see what others committed while the first one waited for their locks.
    return [version for (version,) in await (await tx.execute(_SQL["known_versions"], names)).fetchall()]


async def find(tx: Tx, seller_id: str, namespace: str) -> tuple[int, int] | None:
    """Return version and status of a source; None if there is none."""
    row = await (await tx.execute(_SQL["find_source"], {"seller_id": seller_id, "namespace": namespace})).fetchone()
    return None if row is None else (row[0], row[1])


async def list_states(tx: Tx, names: Sequence[tuple[str, str]]) -> list[FeedSourceState]:
    """Return the fetch state for each (seller, namespace), in order; feed_version is 0 for an unknown one."""
    parameters = {"seller_ids": [seller for seller, _ in names], "namespaces": [namespace for _, namespace in names]}
    states = []
    for row in await fetch_named(tx, _SQL["list_states"], parameters):
        state = FeedSourceState(feed_version=row.source_version or 0, failures=row.failures or 0)
        if row.last_fetched_at is not None:
            state.last_fetch_time.FromDatetime(row.last_fetched_at)
        if row.next_due_at is not None:
            state.next_fetch_time.FromDatetime(row.next_due_at)
        if row.feed_loader_result_id is not None:
            state.last_fetch.CopyFrom(fetch_message(row))
        states.append(state)
    return states


async def list_names(tx: Tx, after: tuple[str, str], *, limit: int) -> list[tuple[str, str]]:
    """Return (seller, namespace) of the first sources after `after` that are not removed."""
    seller_id, namespace = after
    parameters = {
        "seller_id": seller_id,
        "namespace": namespace,
        "removed": feed_pb2.FEED_STATUS_REMOVED,
        "limit": limit,
    }
    return await (await tx.execute(_SQL["list_sources"], parameters)).fetchall()


def _interval_s(source: SourceRecord) -> float:
    return source.interval.ToNanoseconds() / 1e9 or _DEFAULT_INTERVAL_S
