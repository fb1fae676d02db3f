"""Apply a package's migrations to a schema, and compare the result with its models."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from classifeed_common.db.database import checked_schema, session_dsn
from classifeed_common.db.migrations.history import (
    MigrationError,
    Phase,
    alembic_config,
    pending_revisions,
    target_of,
)

VERSION_TABLE = "alembic_version"
LOCK_TIMEOUT_S = 5
STATEMENT_TIMEOUT_S = 600
_WAIT_FOR_OTHER_RUN_S = 120.0
_LOCK_SPACE = 0x636C6173  # first key of our advisory locks; the second is the schema's hash


def migrate(package: str, dsn: str, schema: str, phase: Phase = "all") -> None:
    """Bring `schema` to the newest revision of `package` that the phase allows; makes the schema when missing.

    Idempotent; blocks. One transaction per revision, so that a failure leaves whole revisions behind and the next run
    goes on there. A statement that waits longer than 5 s for a table lock gives up instead of queueing all traffic
    behind itself. Concurrent runs on one schema wait for each other.

    Args:
        package: import name; its revisions are in `<package>/migrations/versions`.
        dsn: any libpq connection string; the role may create the schema, or it exists.
        schema: the service's schema.
        phase: `pre` before the new version starts, `post` when nothing of the old one runs, `all` in one go.

    Raises:
        MigrationError: the history does not fit the database; the message says what to do.
        psycopg.Error: (wrapped by SQLAlchemy) a statement failed.
    """
    config = alembic_config(package)
    scripts = ScriptDirectory.from_config(config)
    _create_schema(dsn, schema)
    with _connect(dsn, schema) as connection, _one_run_at_a_time(connection, schema):
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "version_table_schema": schema}
        )
        current = context.get_current_revision()
        connection.commit()
        target = target_of(pending_revisions(scripts, current), phase, empty=current is None)
        if target is None:
            return
        config.attributes.update(connection=connection, schema=schema, version_table=VERSION_TABLE)
        command.upgrade(config, target)


def check_drift(package: str, dsn: str, schema: str, metadata: sqlalchemy.MetaData) -> list[str]:
    """What differs between the migrated schema and the models, one line each; [] when they agree.

    Compares tables, columns with types and nullability, indexes, unique and foreign keys; neither check constraints
    nor the predicates of partial indexes. `package` only names the models in the lines.
    """
    with _connect(dsn, schema) as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "version_table": VERSION_TABLE,
                "include_object": _is_ours,
                "target_metadata": metadata,
            },
        )
        return [f"{package}: {difference!r}" for difference in compare_metadata(context, metadata)]


def _is_ours(_item: object, name: str | None, kind: str, _reflected: bool, _compared: object) -> bool:
    return not (kind == "table" and name == VERSION_TABLE)


def _create_schema(dsn: str, schema: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        # Asked first: CREATE SCHEMA IF NOT EXISTS wants the right to create even when the schema is there.
        if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone() is None:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {checked_schema(schema)}")


@contextmanager
def _connect(dsn: str, schema: str) -> Iterator[sqlalchemy.Connection]:
    """A SQLAlchemy connection whose default schema is `schema`, so that reflection sees that schema only."""
    timeouts = {"lock_timeout": f"{LOCK_TIMEOUT_S}s", "statement_timeout": f"{STATEMENT_TIMEOUT_S}s"}

    def connect() -> psycopg.Connection[Any]:
        return psycopg.connect(session_dsn(dsn, schema, f"migrate-{schema}", timeouts))

    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=connect, poolclass=sqlalchemy.NullPool)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def _one_run_at_a_time(connection: sqlalchemy.Connection, schema: str) -> Iterator[None]:
    """Hold the schema's advisory lock. Polled: a waiting statement's snapshot would block CREATE INDEX CONCURRENTLY."""
    keys = {"space": _LOCK_SPACE, "schema": schema}
    deadline = time.monotonic() + _WAIT_FOR_OTHER_RUN_S
    while True:
        got = connection.execute(
            sqlalchemy.text("SELECT pg_try_advisory_lock(:space, hashtext(:schema))"), keys
        ).scalar_one()
        connection.commit()
        if got:
            break
        if time.monotonic() > deadline:
            raise MigrationError(
                f"another migration of schema {schema} has been running for {_WAIT_FOR_OTHER_RUN_S:.0f} s: wait for "
                f"it, or end its session (application_name migrate-{schema}) and start again"
            )
        time.sleep(0.2)
    try:
        yield
    finally:
        if not connection.closed and not connection.invalidated:
            connection.rollback()
            connection.execute(sqlalchemy.text("SELECT pg_advisory_unlock(:space, hashtext(:schema))"), keys)
            connection.commit()
