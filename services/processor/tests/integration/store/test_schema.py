from __future__ import annotations

from classifeed_common.db.migrations import check_drift
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_processor.store.tables import metadata


async def test_models_and_migrations_agree(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_processor", "processor")
    assert check_drift("classifeed_processor", database.dsn, "processor", metadata) == []
