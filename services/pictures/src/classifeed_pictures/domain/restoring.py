"""The changes that a restore makes to a state: its pictures stay, open orders are repeated, all with higher numbers.

Results and deletions of orders from before the restore have lower numbers, so they change nothing. Pictures stored
since the backup therefore do not count as stored if the restored tables lack them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from classifeed.pictures.v1.state_record_pb2 import HoldingRecords

Row: TypeAlias = dict[str, Any]
Held: TypeAlias = tuple[str, int, str, str, bool]
"""Namespace, group id, name, URL, and whether the picture was put."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """Values for restored rows.

    Attributes:
        number: attempt above those of all earlier orders.
        at: time by the clock of the database.
        keeps_marks: whether all events since the backup still exist; a missing one may have cleared a mark.
    """

    number: int
    at: datetime
    keeps_marks: bool

    def state(self, row: Row) -> tuple[Row, list[Held]]:
        """Return the restored row of a state, and the stored pictures that it holds."""
        records = HoldingRecords.FromString(row["holdings"])
        is_due, held = False, []
        for record in records.holdings:
            record.first_attempt = self.number
            if record.HasField("info"):
                record.attempt = record.info_attempt = self.number
                info = record.info
                held.append((info.namespace, info.group_id, info.name, row["url"], row["is_put"]))
            else:
                is_due |= record.HasField("order_time")
            record.ClearField("order_time")
        changed = {
            "revision": self.number,
            "attempt": self.number,
            "holdings": records.SerializeToString(deterministic=True),
        }
        if is_due:
            changed["next_attempt_at"] = self.at
        if not self.keeps_marks:
            changed["delete_mark_at"] = None
        return row | changed, held

    def stored(self, row: Row) -> Row:
        """Return the restored row of a stored picture."""
        return row | {"attempt": self.number}
