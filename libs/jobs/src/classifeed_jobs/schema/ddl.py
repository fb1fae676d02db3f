"""DDL of the job tables, for the migrations of the service that owns them."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from classifeed_common.db.conninfo import checked_schema

QUEUE_SCHEMA: Final = "queue"
"""Logical schema of the tables of `add_jobs`."""

VERSIONS: Final = (1, 2, 3, 4, 5)
"""All versions; new tables are created by all of them, in this order."""


def view_ddl(name: str, *, of: str) -> str:
    """Return the SQL of a schema with a view `dl_jobs` of all jobs, live and complete, of the schema `of`.

    It is for diagnostic queries of `dl_jobs`, as the table of that name has only live jobs. Idempotent.

    Raises:
        ValueError: A schema's name is not a plain lower-case identifier.
    """
    name, of = checked_schema(name), checked_schema(of)
    view = f"CREATE OR REPLACE VIEW {name}.dl_jobs AS SELECT * FROM {of}.dl_jobs_all;\n"  # noqa: S608 - checked above
    return f"CREATE SCHEMA IF NOT EXISTS {name};\n{view}"


def ddl(version: int) -> str:
    """Return the SQL that creates (version 1) or changes (later versions) the job tables in the current schema.

    A migration calls `op.execute(ddl(1))`, and the same or a later one `op.execute(ddl(2))`. A published version never
    changes. Each change is a new file `ddl_<version>.sql`, which every service with the tables runs in a new migration.

    Raises:
        LookupError: There is no such version.
    """
    file = files("classifeed_jobs.schema").joinpath(f"ddl_{version}.sql")
    if not file.is_file():
        raise LookupError(f"classifeed_jobs has no DDL of version {version}")
    return file.read_text(encoding="utf-8")
