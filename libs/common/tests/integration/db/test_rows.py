"""Rows are read by the names of their columns, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest

from classifeed_common.db import Database, fetch_as


class Pair(NamedTuple):
    first: int
    second: str
    third: int = 3


@dataclass(frozen=True, slots=True)
class Same:
    first: int
    second: str
    third: int = 3


@pytest.mark.parametrize("row_type", [Pair, Same])
@pytest.mark.parametrize(
    ("columns", "third"),
    [
        ("1 AS first, 'b' AS second, 4 AS third", 4),
        ("1 AS first, 'b' AS second", 3),
        ("4 AS third, 'b' AS second, 1 AS first", 4),
    ],
)
async def test_columns_go_into_the_fields_of_their_names(
    database: Database, row_type: type[Pair | Same], columns: str, third: int
) -> None:
    async with database.connection() as connection:
        assert await fetch_as(connection, row_type, f"SELECT {columns}") == [row_type(1, "b", third)]


async def test_a_column_without_a_field_is_refused_by_its_name(database: Database) -> None:
    async with database.connection() as connection:
        with pytest.raises(LookupError, match=r"^Pair has no field for the columns fourth$"):
            await fetch_as(connection, Pair, "SELECT 1 AS first, 'b' AS second, 4 AS fourth")
