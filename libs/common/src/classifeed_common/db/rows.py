"""Rows with named columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from psycopg import AsyncCursor
from psycopg.rows import namedtuple_row

from classifeed_common.db.connection import Tx

R = TypeVar("R")
RowsOf = Callable[[AsyncCursor[Any]], Callable[[Sequence[Any]], R]]
"""A row factory of psycopg."""


async def fetch_named(
    tx: Tx, statement: str, parameters: Mapping[str, Any] | None = None, *, prepare: bool | None = None
) -> list[Any]:
    """Run a statement and return its rows as named tuples: `row.job_id`.

    For rows of more than a few columns: a new column changes the statement and the place that reads it, nothing
    between.

    Args:
        tx: open transaction.
        statement: SQL.
        parameters: parameters of the statement.
        prepare: False if the plan depends on the parameters: a prepared plan assumes that a LIMIT takes a tenth of the
            rows, and that an array has ten elements. None: prepared after some executions.
    """
    async with tx.cursor(row_factory=namedtuple_row) as cursor:
        await cursor.execute(statement, parameters, prepare=prepare)
        return await cursor.fetchall()


async def fetch_as(
    tx: Tx,
    row_type: type[R],
    statement: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    prepare: bool | None = None,
) -> list[R]:
    """Run a statement and return its rows as `row_type`; see `rows_of` and `fetch_named`.

    Raises:
        LookupError: a column is no field of the type.
    """
    async with tx.cursor(row_factory=rows_of(row_type)) as cursor:
        await cursor.execute(statement, parameters, prepare=prepare)
        return await cursor.fetchall()


def rows_of(row_type: type[R]) -> RowsOf[R]:
    """Return a row factory for a NamedTuple or a dataclass whose fields have the names of the columns.

    Names are compared once per result. If the columns have the order of the fields, a row is as cheap as one by
    position; psycopg's `class_row` makes a dict of each row.
    """
    names = _names_of(row_type)

    def make_rows(cursor: AsyncCursor[Any]) -> Callable[[Sequence[Any]], R]:
        columns = tuple(column.name for column in cursor.description or ())
        if unknown := set(columns).difference(names):
            raise LookupError(f"{row_type.__name__} has no field for the columns {', '.join(sorted(unknown))}")
        if columns == names[: len(columns)]:
            return lambda values: row_type(*values)
        return lambda values: row_type(**dict(zip(columns, values, strict=True)))

    return make_rows


def _names_of(row_type: type[Any]) -> tuple[str, ...]:
    if is_dataclass(row_type):
        return tuple(field.name for field in fields(row_type) if field.init)
    names: tuple[str, ...] = row_type._fields
    return names
