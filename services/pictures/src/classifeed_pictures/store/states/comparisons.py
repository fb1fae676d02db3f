"""Comparisons of stored pictures with the URLs that offers use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named

_SQL: Final = load_queries(__package__, "comparisons.sql")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison.

    Attributes:
        comparison_id: number of the comparison.
        state: RUNNING, HELD, DONE or SUPERSEDED.
        snapshot_at: time of the export of used URLs; None: it has not begun.
        compared: number of URLs that may be deleted if they are unused.
        unused: number of these that no offer uses.
        is_confirmed: whether an operator has confirmed the deletion of any number.
    """

    comparison_id: int
    state: str
    snapshot_at: datetime | None
    compared: int
    unused: int
    is_confirmed: bool


async def begin_comparison(tx: Tx) -> int:
    """Begin a comparison and return its number; unfinished earlier ones are superseded."""
    [(comparison_id,)] = await (await tx.execute(_SQL["begin_comparison"])).fetchall()
    await tx.execute(_SQL["supersede"], {"comparison_id": comparison_id})
    return int(comparison_id)


async def restart_comparison(tx: Tx, comparison_id: int, snapshot_at: datetime) -> None:
    """Delete the known used URLs: an export begins."""
    await tx.execute(_SQL["drop_used"], {"comparison_id": comparison_id}, prepare=False)
    await tx.execute(_SQL["note_snapshot"], {"comparison_id": comparison_id, "snapshot_at": snapshot_at})


async def add_used(tx: Tx, comparison_id: int, url_hashes: Sequence[bytes]) -> None:
    """Record URLs that offers use; idempotent."""
    parameters = {"comparison_id": comparison_id, "url_hashes": list(url_hashes)}
    await tx.execute(_SQL["add_used"], parameters, prepare=False)


async def compare_slice(tx: Tx, comparison: Comparison, *, after: bytes, limit: int) -> list[Any]:
    """Return the next states as rows (url_hash, url, is_compared, is_unused), in the order of their hashes."""
    parameters = {
        "comparison_id": comparison.comparison_id,
        "snapshot_at": comparison.snapshot_at,
        "after": after,
        "limit": limit,
    }
    return await fetch_named(tx, _SQL["compare_slice"], parameters, prepare=False)


async def add_counts(tx: Tx, comparison_id: int, *, compared: int, unused: int) -> None:
    """Add the counts of a slice."""
    await tx.execute(_SQL["add_counts"], {"comparison_id": comparison_id, "compared": compared, "unused": unused})


async def move_comparison(tx: Tx, comparison_id: int, state: str) -> None:
    """Set the state of a comparison."""
    await tx.execute(_SQL["move_comparison"], {"comparison_id": comparison_id, "state": state})


async def drop_used(tx: Tx) -> None:
    """Delete the used URLs of ended comparisons."""
    await tx.execute(_SQL["drop_used"], {"comparison_id": None}, prepare=False)


async def confirm(tx: Tx, comparison_id: int) -> bool:
    """Continue a held comparison; return whether it was held."""
    return bool((await tx.execute(_SQL["confirm"], {"comparison_id": comparison_id})).rowcount)


async def find_comparison(tx: Tx, comparison_id: int) -> Comparison | None:
    """Return a comparison, or None."""
    rows = await fetch_named(tx, _SQL["find_comparison"], {"comparison_id": comparison_id})
    return Comparison(*rows[0]) if rows else None


async def list_comparisons(tx: Tx) -> list[Comparison]:
    """Return the newest 20 comparisons, newest first."""
    return [Comparison(*row) for row in await fetch_named(tx, _SQL["list_comparisons"])]


async def delete_comparisons(tx: Tx, *, before: datetime, limit: int) -> int:
    """Delete ended comparisons that began before a time; return their number."""
    return (await tx.execute(_SQL["delete_comparisons"], {"before": before, "limit": limit})).rowcount
