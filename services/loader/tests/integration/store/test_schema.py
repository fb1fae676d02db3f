"""The tables, with the job tables in the same schema or in a separate one."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_common.db.migrations import check_drift, migrate
from classifeed_common.runner.listening import StartError
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_loader.bootstrap import prepare
from classifeed_loader.settings import LoaderSettings
from classifeed_loader.store.tables import metadata


async def test_models_and_migrations_agree(migrated_database: MigratedDatabase) -> None:
    database = await migrated_database("classifeed_loader", "loader")
    assert check_drift("classifeed_loader", database.dsn, "loader", metadata) == []


def settings_of(dsn: str, **hosting: str) -> LoaderSettings:
    return LoaderSettings(dsn=dsn, processor_address="127.0.0.1:1", hosting=hosting)


async def test_models_and_migrations_agree_with_the_jobs_in_a_schema_of_their_own(database_dsn: str) -> None:
    settings = settings_of(database_dsn, pg_schema_queue="queue_of_jobs")
    for _ in range(2):
        await asyncio.to_thread(
            migrate, "classifeed_loader", database_dsn, "loader", further_schemas=settings.further_schemas
        )
        await prepare(settings)
    mapped = settings.hosting.schema_translate_map
    assert check_drift("classifeed_loader", database_dsn, "loader", metadata, schema_translate_map=mapped) == []


async def test_what_older_versions_kept_in_that_schema_is_not_touched(database_dsn: str) -> None:
    await asyncio.to_thread(migrate, "classifeed_loader", database_dsn, "queue_of_jobs")
    await asyncio.to_thread(migrate, "classifeed_loader", database_dsn, "loader")
    with pytest.raises(
        StartError, match=r"^PG_SCHEMA_QUEUE=queue_of_jobs: schema queue_of_jobs has job tables already"
    ):
        await prepare(settings_of(database_dsn, pg_schema_queue="queue_of_jobs"))
