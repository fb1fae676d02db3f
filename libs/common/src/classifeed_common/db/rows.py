"""Rows by the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg.rows import namedtuple_row

from classifeed_common.db.connection import Tx


async def fetch_named(
    tx: Tx, statement: str, parameters: Mapping[str, Any] | None = None, *, prepare: bool | None = None
) -> list[Any]:
    """Run a statement and return its rows as named tuples: `row.job_id`.

    For rows of more than a few columns: one more column then is one place in the statement and one where it is read.

    Args:
        prepare: False where the plan depends on the parameters: that of a prepared statement takes a LIMIT for a tenth
            of the rows, and an array for ten elements. None: prepared once it was run some times.
    """
    async with tx.cursor(row_factory=namedtuple_row) as cursor:
        await cursor.execute(statement, parameters, prepare=prepare)
        return await cursor.fetchall()
