from __future__ import annotations

import sys
from pathlib import Path

import pytest

from classifeed_common.db import Database, ddl

sys.path.insert(0, str(Path(__file__).parent))

from goods import TABLE


@pytest.fixture
async def db(database: Database) -> Database:
    async with database.connection() as connection:
        await connection.execute(ddl("leases", 1))
        await connection.execute(TABLE)
    return database
