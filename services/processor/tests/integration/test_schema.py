from __future__ import annotations

from classifeed_common.db.migrations import check_drift
from classifeed_processor.store.tables import metadata


async def test_models_and_migrations_agree(migrated_database):
    database = await migrated_database("classifeed_processor", "processor")
    assert check_drift("classifeed_processor", database.dsn, "processor", metadata) == []
