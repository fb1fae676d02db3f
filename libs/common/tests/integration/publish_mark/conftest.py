from __future__ import annotations

import pytest

from classifeed_common.db import Database, ddl

from .goods import TABLE


@pytest.fixture
async def db(database: Database) -> Database:
    async with database.connection() as connection:
        await connection.execute(ddl("leases", 1))
        await connection.execute(TABLE)
    return database
