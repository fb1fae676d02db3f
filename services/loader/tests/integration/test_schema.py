from __future__ import annotations

from classifeed_common.db.migrations import check_drift
from classifeed_loader.store.tables import metadata


async def test_models_and_migrations_agree(migrated_database):
    database = await migrated_database("classifeed_loader", "loader")
    assert check_drift("classifeed_loader", database.dsn, "loader", metadata) == []
