"""Apply a package's migrations to a schema, and compare the schema with the models."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

import psycopg
import sqlalchemy
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg.abc import PQGen

from classifeed_common.db.conninfo import bounded_dsn, checked_schema, session_dsn
from classifeed_common.db.migrations.history import (
    MigrationError,
    Phase,
    alembic_config,
    pending_revisions,
    target_of,
)
from classifeed_common.db.revision import VERSION_TABLE

T = TypeVar("T")

LOCK_TIMEOUT_S = 5
STATEMENT_TIMEOUT_S = 600
_WAIT_FOR_OTHER_RUN_S = 120.0
_RESPONSE_LIMIT_S = STATEMENT_TIMEOUT_S + 10.0
_POLL_S: Final = 0.1  # psycopg's default
_LOCK_SPACE = 0x636C6173  # first key of our advisory locks; the second is the schema's hash


class _BoundedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection with a timeout that is longer than the server's statement timeout."""

    def wait(self, gen: PQGen[T], interval: float = _POLL_S, timeout: float | None = None) -> T:
        """Run a psycopg generator to its end.

        Raises:
            psycopg.OperationalError: the server is silent.
        """
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, _RESPONSE_LIMIT_S)
        except psycopg.errors._WaitTimeout as error:
            self.pgconn.finish()  # otherwise the rollback would wait as long again
            raise psycopg.OperationalError(f"no response within {_RESPONSE_LIMIT_S:g} s") from error


def migrate(package: str, dsn: str, schema: str, phase: Phase = "all", *, further_schemas: Sequence[str] = ()) -> None:
    """Migrate `schema` to the newest revision of `package` that the phase allows; create the schema if it is missing.

    Idempotent; blocks. Each revision has its own transaction: after a failure the next run continues with the revision
    that failed. A statement that waits longer than 5 s for a table lock fails, so that it does not hold up all traffic.
    Concurrent runs on one schema wait for each other.

    Args:
        package: import name; its revisions are in `<package>/migrations/versions`.
        dsn: any libpq connection string; the role may create the schema, or the schema exists.
        schema: the service's schema.
        phase: `pre` before the new version starts, `post` once the old one has stopped, `all` for both.
        further_schemas: schemas to search for tables that `schema` does not have.

    Raises:
        MigrationError: the history does not fit the database; the message says what to do.
        psycopg.Error: (wrapped by SQLAlchemy) a statement failed.
    """
    config = alembic_config(package)
    scripts = ScriptDirectory.from_config(config)
    _create_schema(dsn, schema)
    with _connect(dsn, schema, further_schemas) as connection, _one_run_at_a_time(connection, schema):
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


def check_drift(
    package: str,
    dsn: str,
    schema: str,
    metadata: sqlalchemy.MetaData,
    *,
    schema_translate_map: Mapping[str, str | None] | None = None,
) -> list[str]:
    """Return the differences between the migrated schema and the models, one line each; [] if they agree.

    Compares tables, columns with types and nullability, indexes, unique and foreign keys, but neither check constraints
    nor predicates of partial indexes.

    Args:
        package: import name, for the lines only.
        dsn: any libpq connection string.
        schema: the service's schema.
        metadata: tables of the models.
        schema_translate_map: database schemas by logical schema; a missing one is the service's schema.
    """
    actual = {logical: name for logical, name in (schema_translate_map or {}).items() if name not in {None, schema}}
    found_in = {None, *actual.values()}

    def is_ours(name: str | None, kind: str, _parents: object) -> bool:
        return name in found_in if kind == "schema" else not (kind == "table" and name == VERSION_TABLE)

    models = sqlalchemy.MetaData()
    for table in metadata.tables.values():
        table.to_metadata(models, schema=actual.get(table.schema or ""))  # type: ignore[arg-type]
    with _connect(dsn, schema) as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "version_table": VERSION_TABLE,
                "include_schemas": len(found_in) > 1,
                "include_name": is_ours,
                "target_metadata": models,
            },
        )
        return [f"{package}: {difference!r}" for difference in compare_metadata(context, models)]


def _create_schema(dsn: str, schema: str) -> None:
    with _BoundedConnection.connect(bounded_dsn(dsn), autocommit=True) as connection:
        # Check first: CREATE SCHEMA IF NOT EXISTS needs the right to create even if the schema exists.
        if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone() is None:
            # IF NOT EXISTS does not see a schema that a concurrent run is creating.
            with suppress(psycopg.errors.UniqueViolation):
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {checked_schema(schema)}")


@contextmanager
def _connect(dsn: str, schema: str, further_schemas: Sequence[str] = ()) -> Iterator[sqlalchemy.Connection]:
    """Provide a SQLAlchemy connection with `schema` as the default, so that reflection sees only this schema."""
    timeouts = {"lock_timeout": f"{LOCK_TIMEOUT_S}s", "statement_timeout": f"{STATEMENT_TIMEOUT_S}s"}

    def connect() -> psycopg.Connection[Any]:
        return _BoundedConnection.connect(session_dsn(dsn, schema, f"migrate-{schema}", timeouts, further_schemas))

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
