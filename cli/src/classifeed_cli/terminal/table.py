"""Tables as data: what each column shows of an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Table(Generic[Item]):
    """Columns of a table.

    Attributes:
        columns: the cell of an item, by the head of the column; None is an empty cell.
        empty: sentence for no items; by default, the heads are printed alone.
        below: lines below the row of an item; empty ones are left out.
    """

    columns: Mapping[str, Callable[[Item], object]]
    empty: str = ""
    below: Callable[[Item], Sequence[str]] | None = None

    def cells(self, item: Item) -> list[object]:
        """Return the cells of an item."""
        return [cell(item) for cell in self.columns.values()]
