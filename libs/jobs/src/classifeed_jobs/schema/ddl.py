"""The job tables as SQL, for the migration of the service that owns them."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from classifeed_common.db.conninfo import checked_schema

QUEUE_SCHEMA: Final = "queue"
"""The logical schema of the tables of `add_jobs`."""

VERSIONS: Final = (1, 2, 3, 4, 5)
"""All there are; new tables are made by all of them, in this order."""


def view_ddl(name: str, *, of: str) -> str:
    """Return the SQL that makes a schema with a view `dl_jobs` of all jobs, live and completed, of the schema `of`.

    For diagnostic queries that name `dl_jobs`: the table of that name has the live jobs only. Idempotent.

    Raises:
        ValueError: a schema's name is not a plain lower-case identifier.
    """
    name, of = checked_schema(name), checked_schema(of)
    view = f"CREATE OR REPLACE VIEW {name}.dl_jobs AS SELECT * FROM {of}.dl_jobs_all;\n"  # noqa: S608 - checked above
    return f"CREATE SCHEMA IF NOT EXISTS {name};\n{view}"


def ddl(version: int) -> str:
    """Return the SQL that makes (version 1) or changes (later versions) the job tables in the current schema.

    For `op.execute(ddl(1))` in a migration, then `op.execute(ddl(2))` in the same or a later one. A published version
    never changes; a change is a new file `ddl_<version>.sql`, and every service that has the tables calls it in a new
    migration.

    Raises:
        LookupError: there is no such version.
    """
    file = files("classifeed_jobs.schema").joinpath(f"ddl_{version}.sql")
    if not file.is_file():
        raise LookupError(f"classifeed_jobs has no DDL of version {version}")
    return file.read_text(encoding="utf-8")
