"""Parts that bootstraps build from settings in the same way; nothing is opened yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import grpc.aio

from classifeed_common.auth import KeyStore
from classifeed_common.db import Database
from classifeed_common.db.revision import check_revision
from classifeed_common.rpc.client import open_channel
from classifeed_common.settings import ServiceSettings


def database_of(settings: ServiceSettings) -> Database:
    """Return the service's database, with at most `db_pool_max` connections."""
    return Database(
        settings.dsn.get_secret_value(),
        schema=settings.db_schema,
        further_schemas=settings.further_schemas,
        application_name=settings.service_name(),
        max_size=settings.db_pool_max,
        use_pool=settings.db_use_pool,
        recycle_s=settings.db_pool_recycle_s,
        unanswered_s=settings.db_unanswered_s,
    )


def channel_to(audience: str, address: str, settings: ServiceSettings) -> grpc.aio.Channel:
    """Return a channel to another service; calls carry tokens if there is a folder of keys."""
    keys = KeyStore(settings.keys_dir) if settings.keys_dir is not None else None
    return open_channel(address, caller=settings.service_name(), audience=audience, keys=keys)


class SchemaCheck:
    """A readiness check: the database responds and is migrated.

    Args:
        database: database of the service.
        package: import name of the service, which has the migrations.
    """

    def __init__(self, database: Database, package: str) -> None:
        self._database = database
        self._package = package

    async def __call__(self) -> None:
        """Return if the check passes.

        Raises:
            FailedPrecondition: NOT_MIGRATED, the migrate step has not run for this version.
        """
        async with self._database.connection() as connection:
            await check_revision(connection, self._package, self._database.schema)

    async def check_alone(self) -> None:
        """Run the check on a separate connection, before the database is opened.

        Raises:
            FailedPrecondition: NOT_MIGRATED, the migrate step has not run for this version.
            psycopg.OperationalError: the database does not respond, or refuses the connection.
        """
        async with self._database.dedicated_connection() as connection:
            await check_revision(connection, self._package, self._database.schema)


def check_table(database: Database, table: str) -> Callable[[], Awaitable[None]]:
    """Return a readiness check: the database responds, and has the table."""

    async def check() -> None:
        async with database.connection() as connection:
            await connection.execute(f"SELECT FROM {table} LIMIT 1")

    return check
