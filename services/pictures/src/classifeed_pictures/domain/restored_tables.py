"""What people read about a table that was restored alone."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from classifeed_pictures.domain.marked_tables import JOBS


class RestoredTable(NamedTuple):
    """A table that was restored alone, and is not mended or not named long enough.

    Attributes:
        name: Of the table.
        restored_to: When the restored rows were marked last; 1970: unknown, as the table was emptied.
        is_checking: Whether pictures that states hold are being compared with those that are stored.
        lost_puts: Pictures that were put, and are not stored any more.
        behind: Partitions with events that are applied again.
        has_gap: Whether offers is still to be called.
        is_old: Whether it was named for as long as what cannot be mended is.
    """

    name: str
    restored_to: datetime
    is_checking: bool
    lost_puts: int
    behind: int
    has_gap: bool
    is_old: bool


def describe(table: RestoredTable, *, has_others: bool) -> str:
    """Return what happened to a table, what is under way, and what to do; empty: nothing is left to say.

    Args:
        table: as it is noted.
        has_others: whether other clients than offers have requests that it may have lost.
    """
    under_way, to_do = [], []
    if table.behind:
        under_way.append(f"Events since then are applied again; partitions that have some left: {table.behind}.")
    if table.has_gap:
        under_way.append("Offers requests its pictures again.")
    if table.is_checking and table.name == JOBS:
        under_way.append("Pictures whose jobs were lost with it are ordered again.")
    elif table.is_checking:
        under_way.append("Pictures that are not stored any more are downloaded again.")
    if table.lost_puts and not table.is_old:
        to_do.append(
            f"Pictures that were put and are lost: {table.lost_puts}; `pictures.picture.lost` in the log names them. "
            "Put them again."
        )
    if has_others and not table.is_old:
        to_do.append(
            "Requests of other clients than offers may be lost. Have these clients request their pictures again "
            "(`classifeed picture request`), or restore a backup (`classifeed picture restore`)."
        )
    if not under_way and not to_do:
        return ""
    is_known = table.restored_to.year > 1970
    what = f"restored to {table.restored_to:%Y-%m-%dT%H:%M:%SZ}" if is_known else "emptied"
    wait = ["Wait."] if under_way else []
    return " ".join([f"The table {table.name} was {what} while other tables were not.", *under_way, *wait, *to_do])
