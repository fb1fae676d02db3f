"""Messages about a table that was restored without the others."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from classifeed_pictures.domain.marked_tables import JOBS


class RestoredTable(NamedTuple):
    """A table that was restored without the others, until it is repaired and was reported long enough.

    Attributes:
        name: name of the table.
        restored_to: time of the last mark of the restored rows; 1970: unknown, as the table was emptied.
        is_checking: whether states are still being compared with stored pictures or jobs.
        lost_puts: number of pictures that were put and are no longer stored.
        behind: number of partitions with events to apply again.
        has_gap: whether offers still has to be called.
        is_old: whether it was reported for as long as an unrepairable loss is.
    """

    name: str
    restored_to: datetime
    is_checking: bool
    lost_puts: int
    behind: int
    has_gap: bool
    is_old: bool


def describe(table: RestoredTable, *, has_others: bool) -> str:
    """Return what happened to a table, what is in progress, and what to do; empty if there is nothing to report.

    Args:
        table: recorded state of the table.
        has_others: whether clients other than offers have requests that may be lost.
    """
    under_way, to_do = [], []
    if table.behind:
        under_way.append(f"Events since then are applied again; partitions with events left: {table.behind}.")
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
