"""The processor compares ids of fetches, so a restored database must not reuse one."""

from __future__ import annotations

import asyncio
import time

from classifeed_common.db import Database
from classifeed_devkit.testing.databases import MigratedDatabase

_OPEN_FETCH = """
INSERT INTO feed_fetches (seller_id, namespace, feed_version, trigger, outcome)
VALUES ('seller', %s, 1, 1, 0) RETURNING feed_loader_result_id
"""


async def _draw(database: Database, namespace: str) -> int:
    async with database.transaction() as tx:
        row = await (await tx.execute(_OPEN_FETCH, (namespace,))).fetchone()
    assert row is not None
    return int(row[0])


async def test_a_database_without_its_newest_rows_draws_no_id_again(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_loader", "loader")
    before = [await _draw(database, f"n{number}") for number in range(3)]
    async with database.transaction() as tx:  # as after a restore: older rows and an older sequence
        await tx.execute("DELETE FROM feed_fetches")
        await tx.execute("ALTER SEQUENCE feed_fetches_in_ms RESTART")
    await asyncio.sleep(0.002)  # a restore takes longer than the clock's millisecond
    assert await _draw(database, "n") > max(before)


async def test_ids_of_one_transaction_differ_and_follow_the_clock(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_loader", "loader")
    async with database.transaction() as tx:
        rows = await (
            await tx.execute(
                """
                INSERT INTO feed_fetches (seller_id, namespace, feed_version, trigger, outcome)
                SELECT 'seller', 'n' || n, 1, 1, 0 FROM generate_series(1, 900) n RETURNING feed_loader_result_id
                """
            )
        ).fetchall()
    ids = [row[0] for row in rows]
    assert len(set(ids)) == 900
    assert all(abs(at - time.time_ns() // 1000) < 3600 * 1_000_000 for at in ids)
