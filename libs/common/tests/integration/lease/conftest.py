from __future__ import annotations

import pytest

from classifeed_common.db import Database, ddl


@pytest.fixture
async def db(database: Database) -> Database:
    """Return a database with the leases table, and a row that several holders write."""
    async with database.connection() as connection:
        await connection.execute(ddl("leases", 1))
        await connection.execute("CREATE TABLE work (id int PRIMARY KEY, value text NOT NULL, fence bigint NOT NULL)")
        await connection.execute("INSERT INTO work VALUES (1, 'start', 0)")
    return database
