"""New databases for tests: each test has a separate one on the session's embedded server, dropped at its end."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from classifeed_common.db import Database
from classifeed_common.db.migrations import migrate
from classifeed_devkit.embedded.postgres import EmbeddedPostgres

_CLOSE_LIMIT_S = 60.0
_RESTORES = 5

MigratedDatabase = Callable[..., Awaitable[Database]]


class DatabaseServer:
    """Creates and drops databases on one server; a schema is migrated once and then copied."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._made: list[str] = []
        self._templates: dict[tuple[str, str], str] = {}

    def create(self, template: str = "template0") -> str:
        """Create a database and return its DSN, which only the caller knows."""
        name = f"t_{uuid.uuid4().hex[:16]}"
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        self._made.append(name)
        return make_conninfo(self._dsn, dbname=name)

    def create_migrated(self, package: str, schema: str) -> str:
        """Create a database with the package's newest schema, and return its DSN."""
        if (package, schema) not in self._templates:
            dsn = self.create()
            migrate(package, dsn, schema)
            self._templates[package, schema] = self._made[-1]
        return self.create(self._templates[package, schema])

    def back_up(self, dsn: str) -> str:
        """Copy a database made here while processes use it; return the argument for `restore`."""
        name, copy = _name_of(dsn), f"t_{uuid.uuid4().hex[:16]}"
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            try:
                _copy_closed(connection, name, copy)
            finally:
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        self._made.append(copy)
        return copy

    def restore(self, dsn: str, backup: str) -> None:
        """Replace a database by a copy, as an operator does with a backup; open sessions are ended."""
        name = _name_of(dsn)
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            [(owner,)] = connection.execute(
                "SELECT quote_ident(pg_get_userbyid(datdba)) FROM pg_database WHERE datname = %s", [name]
            ).fetchall()
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {backup} OWNER {owner}")

    def drop(self, dsn: str) -> None:
        """Drop a database made here, and end its sessions."""
        name = _name_of(dsn)
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self._made.remove(name)

    def drop_all(self) -> None:
        """Drop the remaining databases, including templates."""
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            for name in self._made:
                connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self._made.clear()
        self._templates.clear()


class TableBackup:
    """A copy of some tables of a database, taken and restored during operation."""

    def __init__(self, database: Database, *tables: str) -> None:
        self._database = database
        self._tables = tables

    async def take(self) -> None:
        """Copy the tables; call it once."""
        async with self._database.transaction() as tx:
            for table in self._tables:
                await tx.execute(f"CREATE TABLE {_copy_of(table)} AS TABLE {table}")

    async def restore(self) -> None:
        """Restore the copies in one transaction; may be repeated.

        The service reads the tables meanwhile, in its own order. After a deadlock the restore is tried again.
        """
        for attempts_left in reversed(range(_RESTORES)):
            try:
                await self._restore_once()
            except psycopg.errors.DeadlockDetected:
                if not attempts_left:
                    raise
            else:
                return

    async def _restore_once(self) -> None:
        async with self._database.transaction() as tx:
            await tx.execute(f"TRUNCATE {', '.join(self._tables)}")
            for table in self._tables:
                await tx.execute(f"INSERT INTO {table} OVERRIDING SYSTEM VALUE TABLE {_copy_of(table)}")


def _copy_of(table: str) -> str:
    return f"backup_{table.replace('.', '_')}"


def _name_of(dsn: str) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"])


def _copy_closed(connection: psycopg.Connection, name: str, copy: str) -> None:
    """Close a database to new sessions, end its sessions, and copy it: PostgreSQL copies only unused databases."""
    connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    ends_at = time.monotonic() + _CLOSE_LIMIT_S
    while True:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            connection.execute(f"CREATE DATABASE {copy} TEMPLATE {name}")
        except psycopg.errors.ObjectInUse:
            if time.monotonic() > ends_at:
                raise
        else:
            return


@pytest.fixture(scope="session")
def database_server(postgres: EmbeddedPostgres) -> Iterator[DatabaseServer]:
    """Yield a factory of databases on the session's server."""
    server = DatabaseServer(postgres.dsn)
    yield server
    with suppress(psycopg.OperationalError):  # a test may have stopped the server for good
        server.drop_all()


@pytest.fixture
def database_dsn(database_server: DatabaseServer) -> Iterator[str]:
    """Yield the DSN of a new, empty database; for tests that start processes or run migrations."""
    dsn = database_server.create()
    yield dsn
    with suppress(psycopg.OperationalError):
        database_server.drop(dsn)


@pytest.fixture
async def database(database_dsn: str) -> AsyncIterator[Database]:
    """Yield an open Database on a new database with an empty schema `test`."""
    with psycopg.connect(database_dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA test")
    database = Database(database_dsn, schema="test", application_name="test")
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def migrated_database(database_server: DatabaseServer) -> AsyncIterator[MigratedDatabase]:
    """Yield a factory: `await migrated_database("classifeed_offers", "offers")` opens a newly migrated Database."""
    async with AsyncExitStack() as stack:

        async def make(package: str, schema: str | None = None, *, max_size: int = 4) -> Database:
            schema = schema or package.removeprefix("classifeed_")
            dsn = database_server.create_migrated(package, schema)
            stack.callback(database_server.drop, dsn)
            database = Database(dsn, schema=schema, application_name="test", max_size=max_size)
            await database.open()
            stack.push_async_callback(database.close)
            return database

        yield make
