"""Plans of statements are read and measured."""

from __future__ import annotations

from classifeed_common.db import Database, Tx
from classifeed_devkit.testing.plans import Hot, explain, list_costly, scanned_tables


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


async def test_a_statement_that_handles_too_many_rows_is_named_and_undone(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute("CREATE TABLE things (id int PRIMARY KEY, name text)")
        await tx.execute("INSERT INTO things SELECT i, i::text FROM generate_series(1, 500) i")
        ordered: list[str] = []

        async def before(_: Tx) -> None:
            ordered.append("before")

        statements = {
            "by_key": Hot("DELETE FROM things WHERE id = %(id)s", {"id": 7}, most=10),
            "by_name": Hot("DELETE FROM things WHERE name = %(name)s", {"name": "7"}, 10, is_prepared=False),
            "all": Hot("DELETE FROM things", {}, most=10, before=before),
        }
        costly = await list_costly(tx, statements)
        assert {case for case, handled in costly.items() if handled >= 500} == set(costly)
        assert set(costly) == {("by_name", False), ("all", False), ("all", True)}
        assert ordered == ["before"] * 2
        assert await (await tx.execute("SELECT count(*) FROM things")).fetchone() == (500,)
