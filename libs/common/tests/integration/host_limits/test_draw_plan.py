"""The statement that draws a permit looks up its host only, in a table of any size, with any statistics."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed_common.db import Database, ddl
from classifeed_common.host_limits import HostPolicy
from classifeed_common.host_limits.table import _SQL, HostReport, HostTable
from classifeed_devkit.testing.plans import rows_handled, scanned_tables


def parameters(database: Database, number: int) -> dict[str, Any]:
    report = HostReport(released=[1, 2])
    return HostTable(database, HostPolicy()).values_of(f"{number}.example.com", report, 0, wants=True)


async def make(database: Database, first: int, count: int) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO fetch_hosts (host, rate) SELECT i || '.example.com', 1 FROM generate_series(%s::int, %s) i",
            [first, first + count - 1],
        )


@pytest.mark.parametrize("is_generic", [False, True], ids=["custom", "generic"])
async def test_a_draw_handles_its_own_host_alone(database: Database, is_generic: bool) -> None:
    async with database.connection() as connection:
        await connection.execute(ddl("fetch_hosts", 1) + ddl("fetch_hosts", 2))
    handled: list[int] = []
    for first, count in ((0, 300), (300, 20_000)):  # the planner's statistics know the first ones
        await make(database, first, count)
        if not handled:
            async with database.connection() as connection:
                await connection.execute("ANALYZE fetch_hosts")
        async with database.transaction() as tx:
            handled.append(await rows_handled(tx, _SQL["draw"], parameters(database, first), is_generic=is_generic))
    assert handled[1] <= 50


async def test_a_draw_scans_no_table(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute(ddl("fetch_hosts", 1) + ddl("fetch_hosts", 2))
    await make(database, 0, 20_000)
    async with database.connection() as connection:
        await connection.execute("ANALYZE fetch_hosts")
        assert await scanned_tables(connection, _SQL["draw"], parameters(database, 7)) == set()
