"""Rows by the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg.rows import namedtuple_row

from classifeed_common.db.connection import Tx


async def fetch_named(tx: Tx, statement: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
    """Run a statement and return its rows as named tuples: `row.job_id`.

    For rows of more than a few columns: one more column then is one place in the statement and one where it is read.
    """
    async with tx.cursor(row_factory=namedtuple_row) as cursor:
        await cursor.execute(statement, parameters)
        return await cursor.fetchall()
