"""Statements of the clean-up."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_offers.domain.offers import Namespace

_SQL: Final = load_queries(__package__, "cleaning.sql")
_DELETE_BATCHES = _SQL["delete_batches"]
_DELETE_ENDS = _SQL["delete_ends"]
_DELETE_WAITING = _SQL["delete_waiting"]
_DELETE_SIZES = _SQL["delete_sizes"]
_FIND_REMOVED = _SQL["find_removed"]
_DELETE_REMOVED = _SQL["delete_removed"]


async def delete_batches(tx: Tx, *, before: datetime, limit: int) -> int:
    """Delete batches of superseded tasks that were applied before a time; return their number."""
    return (await tx.execute(_DELETE_BATCHES, {"before": before, "limit": limit})).rowcount


async def delete_ends(tx: Tx, *, before: datetime, limit: int) -> int:
    """Delete decided ends of superseded tasks that arrived before a time; return their number."""
    return (await tx.execute(_DELETE_ENDS, {"before": before, "limit": limit})).rowcount


async def delete_waiting(tx: Tx, *, limit: int) -> int:
    """Delete changes that wait for ended or superseded runs; return their number."""
    return (await tx.execute(_DELETE_WAITING, {"limit": limit})).rowcount


async def delete_sizes(tx: Tx, *, before: datetime, limit: int) -> int:
    """Delete sizes of namespaces from days (UTC) before the day of a time; return their number."""
    return (await tx.execute(_DELETE_SIZES, {"before": before.astimezone(UTC), "limit": limit})).rowcount


async def find_removed(tx: Tx, *, before: datetime) -> Namespace | None:
    """Return the namespace with the oldest offer that was removed, and published as removed, before a time."""
    row = await (await tx.execute(_FIND_REMOVED, {"before": before})).fetchone()
    return None if row is None else Namespace(*row)


async def delete_removed(tx: Tx, namespace: Namespace, *, before: datetime, limit: int) -> int:
    """Delete offers of a namespace that were removed before a time; return their number. The caller holds its head."""
    parameters = {"seller": namespace.seller_id, "namespace": namespace.namespace, "before": before, "limit": limit}
    return (await tx.execute(_DELETE_REMOVED, parameters)).rowcount
