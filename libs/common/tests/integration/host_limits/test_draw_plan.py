"""The statement of each round looks up its hosts only, in a table of any size, with any statistics of the planner."""

from __future__ import annotations

import json
from typing import Any

import pytest

from classifeed_common.db import Database, ddl
from classifeed_common.host_limits import HostPolicy, draws
from classifeed_common.host_limits.draws import DrawRequest, HostReport, HostTable
from classifeed_devkit.testing.plans import rows_handled, scanned_tables


def parameters(database: Database, hosts: list[str]) -> dict[str, Any]:
    wanted = json.dumps([draws._row_of(host, DrawRequest(HostReport([1, 2]), True), 0) for host in hosts])
    return {**HostTable(database, HostPolicy())._values, "wanted": wanted, "hosts": hosts}


async def make(database: Database, first: int, count: int) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO fetch_hosts (host, rate) SELECT i || '.example.com', 1 FROM generate_series(%s::int, %s) i",
            [first, first + count - 1],
        )


@pytest.mark.parametrize("is_generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("size", [1, 10, 200])
async def test_a_round_handles_its_own_hosts_alone(database: Database, size: int, is_generic: bool) -> None:
    async with database.connection() as connection:
        await connection.execute(ddl("fetch_hosts", 1) + ddl("fetch_hosts", 2))
    handled: list[int] = []
    for first, count in ((0, 300), (300, 20_000)):  # the planner's statistics know the first ones
        await make(database, first, count)
        if not handled:
            async with database.connection() as connection:
                await connection.execute("ANALYZE fetch_hosts")
        hosts = [f"{first + number}.example.com" for number in range(size)]
        async with database.transaction() as tx:
            handled.append(await rows_handled(tx, draws._DRAW, parameters(database, hosts), is_generic=is_generic))
    assert handled[1] <= 50 * size + 500


async def test_a_round_scans_no_table(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute(ddl("fetch_hosts", 1) + ddl("fetch_hosts", 2))
    await make(database, 0, 20_000)
    async with database.connection() as connection:
        await connection.execute("ANALYZE fetch_hosts")
        for size in (1, 50):
            hosts = [f"{number}.example.com" for number in range(size)]
            assert await scanned_tables(connection, draws._DRAW, parameters(database, hosts)) == set()
