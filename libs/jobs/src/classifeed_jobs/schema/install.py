"""Creates the job tables, for applications without a migration tool."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import Database, load_queries
from classifeed_jobs.schema.ddl import VERSIONS, ddl

_SQL = load_queries("classifeed_jobs.schema", "install.sql")
_LOCK = _SQL["lock_install"]
_MAKE_VERSIONS = _SQL["make_versions"]
_LIST_VERSIONS = _SQL["list_versions"]
_HAS_TABLES = _SQL["has_tables"]
_NOTE_VERSION = _SQL["note_version"]

_LOCK_TIMEOUT_S: Final = 5


class InstallError(Exception):
    """The job tables cannot be created; the message says what to do."""


async def install(database: Database) -> list[int]:
    """Create the job tables in the schema of a database, or upgrade them; return the applied versions.

    It runs in one transaction, and creates the schema if necessary. Idempotent, even in concurrent processes.

    Raises:
        InstallError: The schema has job tables that a migration has created.
        psycopg.Error: The role lacks privileges, or the tables are locked for longer than 5 s.
    """
    async with database.dedicated_connection() as connection, connection.transaction():
        await connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT_S}s'")
        await connection.execute(_LOCK, {"schema": database.schema})
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {database.schema}")
        [(has_tables,)] = await (await connection.execute(_HAS_TABLES)).fetchall()
        await connection.execute(_MAKE_VERSIONS)
        done = {version for (version,) in await (await connection.execute(_LIST_VERSIONS)).fetchall()}
        if has_tables and not done:
            raise InstallError(
                f"schema {database.schema} has job tables that install did not create: leave them to the migrations "
                f"that created them, or choose another schema"
            )
        missing = [version for version in VERSIONS if version not in done]
        for version in missing:
            await connection.execute(ddl(version).encode())
            await connection.execute(_NOTE_VERSION, {"version": version})
    return missing
