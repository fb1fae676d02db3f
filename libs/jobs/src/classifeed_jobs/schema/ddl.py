"""The job tables as SQL, for the migration of the service that owns them."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

QUEUE_SCHEMA: Final = "queue"
"""The logical schema of the tables of `add_jobs`."""

VERSIONS: Final = (1, 2, 3, 4, 5)
"""All there are; new tables are made by all of them, in this order."""


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
