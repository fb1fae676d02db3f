"""The migrate step: creates databases, roles, schemas and topics of all services in one short-lived process.

python -m classifeed_cli.platform.planning.migrate   (the plan is JSON in CLASSIFEED_MIGRATE_PLAN)
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import sql

from classifeed_cli.platform.planning.plan import Plan
from classifeed_common.errors import DomainError, Unavailable

T = TypeVar("T")
PLAN_VARIABLE = "CLASSIFEED_MIGRATE_PLAN"
_WAIT_FOR_SERVERS_S = 60.0


def describe_step(plan: Plan) -> str:
    """Return the plan of the process as JSON. It has the superuser's password, which the services do not get."""
    with_database = [spec for spec in plan.services if spec.database and "postgres" in plan.parts]
    databases = [
        {
            "name": spec.name,
            "package": spec.package,
            "dsn": plan.dsn(spec.name),
            "password": plan.credentials.roles[spec.name],
        }
        for spec in with_database
    ]
    return json.dumps(
        {
            "superuser": plan.superuser_dsn,
            "databases": databases,
            "bootstrap": plan.address("kafka") if "kafka" in plan.parts else "",
            "topics": list(plan.table.topics),
        }
    )


def prepare_database(connection: psycopg.Connection[Any], name: str, password: str) -> None:
    """Create a role with login, and a database to which no other role may connect. Idempotent."""
    role, database = sql.Identifier(name), sql.Identifier(name)
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone() is None:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
    connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(role, sql.Literal(password)))
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0").format(database, role))
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))


def run_step(step: dict[str, Any]) -> None:
    """Run the step. Idempotent; it waits for servers that are still starting."""
    from classifeed_common.db.migrations import migrate
    from classifeed_common.kafka import ensure_topics
    from classifeed_domain.topics import declared

    if step["databases"]:
        with _connect(step["superuser"]) as connection:
            for database in step["databases"]:
                prepare_database(connection, database["name"], database["password"])
        for database in step["databases"]:
            with _timed(f"migrate {database['name']}"):
                migrate(database["package"], database["dsn"], database["name"])
    if step["bootstrap"] and step["topics"]:
        with _timed("topics"):
            host, _, port = step["bootstrap"].rpartition(":")
            _retry(lambda: socket.create_connection((host, int(port)), 5).close(), ConnectionError)
            _retry(lambda: asyncio.run(ensure_topics(step["bootstrap"], map(declared, step["topics"]))), Unavailable)


def _connect(dsn: str) -> psycopg.Connection[Any]:
    return _retry(lambda: psycopg.connect(dsn, autocommit=True, connect_timeout=5), psycopg.OperationalError)


def _retry(action: Callable[[], T], passing: type[Exception]) -> T:
    deadline = time.monotonic() + _WAIT_FOR_SERVERS_S
    while True:
        try:
            return action()
        except passing:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.1)


@contextmanager
def _timed(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - started:.2f} s", flush=True)


def main() -> None:
    """Run the process. It exits with 0, or with the error as its last line."""
    try:
        run_step(json.loads(os.environ.pop(PLAN_VARIABLE)))
    except DomainError as error:
        sys.exit(error.message)


if __name__ == "__main__":
    main()
