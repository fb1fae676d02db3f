"""Placing: moves the job tables into a schema of their own, after the migrations have made them (ADR 0027)."""

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
    """Move what the migrations of a service have made for its jobs from its schema into `queue_schema`.

    In one transaction; makes the schema when missing. Idempotent: run it after each migration, a later version of the
    tables is made in the service's schema too. Views of the service over the job tables stay and go on to work.
    Processes find the tables when both schemas are in their search path (`Database(further_schemas=…)`); while they
    are moved, statements wait for 5 s at the most, or the move gives up.

    Returns:
        How many tables, views and functions were moved.

    Raises:
        PlacingError: there are no job tables in either schema, or others in the second one.
        psycopg.Error: the role may not do that, or the tables are in use.
    """
    names = {"schema": checked_schema(schema), "queue_schema": checked_schema(queue_schema)}
    database = Database(dsn, schema=schema, application_name=f"place-{queue_schema}")
    async with database.dedicated_connection() as connection, connection.transaction():
        # Names come out with their schemas when none is searched.
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
