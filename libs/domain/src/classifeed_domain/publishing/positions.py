"""Acknowledged positions of the receiver's shards, in the table `published_positions` of the publishing service."""

from __future__ import annotations

from collections.abc import Mapping

from classifeed_common.db import Tx, load_queries

SQL = load_queries(__package__, "positions.sql")


async def select_positions(tx: Tx) -> dict[int, int]:
    """Return the newest element of each shard that the receiver has acknowledged."""
    return dict(await (await tx.execute(SQL["select_positions"])).fetchall())


async def write_positions(tx: Tx, positions: Mapping[int, int]) -> None:
    """Store acknowledged elements, by shard."""
    await tx.execute(SQL["write_positions"], {"shards": list(positions), "idxs": list(positions.values())})


async def forget_positions(tx: Tx, shard: int, idx: int) -> bool:
    """Delete all positions if this one is among them; return whether it was."""
    return (await tx.execute(SQL["forget_positions"], {"shard": shard, "idx": idx})).rowcount > 0
