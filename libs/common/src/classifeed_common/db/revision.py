"""Check that a database has the newest `pre` migration of a package.

It does without Alembic, whose import takes longer than the whole check. The names of the files have the needed
information (`DATE_NUMBER_PHASE_WHAT.py`, kept by a test).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from psycopg import errors
from psycopg.sql import SQL, Identifier

from classifeed_common.db.connection import Tx
from classifeed_common.errors import FailedPrecondition

VERSION_TABLE: Final = "alembic_version"
_SELECT: Final = SQL("SELECT version_num FROM {}")


async def check_revision(connection: Tx, package: str, schema: str) -> None:
    """Return if the schema has all that the package's code needs; a newer version may have migrated it further.

    Args:
        connection: connection to the database.
        package: import name of the service.
        schema: schema of its tables, as `Database.schema`.

    Raises:
        FailedPrecondition: NOT_MIGRATED, until the migrate step has run.
    """
    needed = _needed_revision(package)
    try:
        row = await (await connection.execute(_SELECT.format(Identifier(schema, VERSION_TABLE)))).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise _not_migrated("The database has no tables", package) from error
    found = str(row[0]) if row is not None else ""
    if _order(found) < _order(needed):
        raise _not_migrated(f"The database is at revision {found}, {package} needs {needed}", package)


def _not_migrated(state: str, package: str) -> FailedPrecondition:
    return FailedPrecondition(
        "NOT_MIGRATED",
        f"{state}: run the migrate step (`python -m {package} migrate`; `classifeed down`, then `up` do it). The "
        "process waits for it.",
    )


@cache
def _needed_revision(package: str) -> str:
    entries = files(package).joinpath("migrations", "versions").iterdir()
    parts = [entry.name.split("_") for entry in entries if entry.name[0].isdigit()]
    return max((f"{date}_{number}" for date, number, phase, *_ in parts if phase == "pre"), key=_order)


def _order(revision: str) -> tuple[int, ...]:
    return tuple(int(part) for part in revision.split("_") if part.isdigit())
