"""Placing: moves the job tables into a separate schema, after the migrations have created them (ADR 0027)."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.db.conninfo import checked_schema

_SQL = load_queries("classifeed_jobs.schema", "placing.sql")
_LOCK = _SQL["lock_placing"]
_HAS_SCHEMA = _SQL["has_schema"]
_LIST = _SQL["list_objects"]
_HAS_JOBS = _SQL["has_jobs"]

_LOCK_TIMEOUT_S: Final = 5


class PlacingError(Exception):
    """The job tables cannot be moved as requested; the message says what to do."""


async def place_jobs(dsn: str, *, schema: str, queue_schema: str) -> int:
    """Move the job tables, views and functions of a service from its schema into `queue_schema`.

    It runs in one transaction, and creates the schema if necessary. Idempotent: run it after each migration, because
    later versions are created in the service's schema, too. The service's views of job tables remain valid. Processes
    need both schemas in their search path (`Database(further_schemas=…)`). The move waits at most 5 s for its locks.

    Returns:
        Number of moved tables, views and functions.

    Raises:
        PlacingError: Neither schema has job tables, or both have some.
        psycopg.Error: The role lacks privileges, or the tables are in use.
    """
    names = {"schema": checked_schema(schema), "queue_schema": checked_schema(queue_schema)}
    database = Database(dsn, schema=schema, application_name=f"place-{queue_schema}")
    async with database.dedicated_connection() as connection, connection.transaction():
        # With an empty search path, names are qualified by their schema.
        await connection.execute("SET LOCAL search_path = pg_catalog")
        await connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT_S}s'")
        await connection.execute(_LOCK, names)
        if not await _is_true(connection, _HAS_SCHEMA, names):
            await connection.execute(f"CREATE SCHEMA {queue_schema}")
        rows = await (await connection.execute(_LIST, names)).fetchall()
        if any(clashes for _, _, clashes in rows):
            raise PlacingError(
                f"schema {queue_schema} has job tables already, and so has {schema}: choose another schema for the "
                f"jobs, or move or drop what is in one of the two"
            )
        for kind, name, _ in rows:
            await connection.execute(f"ALTER {kind} {name} SET SCHEMA {queue_schema}")
        if not await _is_true(connection, _HAS_JOBS, names):
            raise PlacingError(f"there are no job tables in {schema} or {queue_schema}: run the migrations first")
    return len(rows)


async def _is_true(connection: Tx, query: str, names: dict[str, str]) -> bool:
    row = await (await connection.execute(query, names)).fetchone()
    return bool(row is not None and row[0])
