from __future__ import annotations

from classifeed_common.db import Database
from classifeed_devkit.testing.plans import explain, scanned_tables


async def test_a_table_that_is_read_from_end_to_end_is_named(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("CREATE TABLE things (id int PRIMARY KEY, name text)")
        await connection.execute("INSERT INTO things SELECT i, i::text FROM generate_series(1, 5000) i")
        await connection.execute("ANALYZE things")
        by_key = "SELECT name FROM things WHERE id = %(id)s"
        below = f"SELECT ({by_key}) FROM (SELECT 1 FROM things WHERE name = '7' LIMIT 1) AS found"
        assert await scanned_tables(connection, by_key, {"id": 7}) == set()
        assert await scanned_tables(connection, below, {"id": 7}) == {"things"}
        nodes = await explain(connection, by_key, {"id": 7})
        assert [node["Index Name"] for node in nodes] == ["things_pkey"]
