"""The declared tables equal the migrated ones."""

from __future__ import annotations

from typing import Any

from classifeed_cleanweb.store.tables import metadata
from classifeed_common.db.migrations import check_drift


async def test_tables_are_as_declared(migrated_database: Any) -> None:
    database = await migrated_database("classifeed_cleanweb")
    assert check_drift("classifeed_cleanweb", database.dsn, database.schema, metadata) == []
