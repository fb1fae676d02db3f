"""What a restore changes of a state: its pictures stay, what was under way is ordered again, under higher numbers.

Results and deletions of orders from before the restore have lower numbers: they change nothing, whenever they come.
So what was stored since the backup is not taken for stored where the restored tables do not have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from classifeed.pictures.v1.state_record_pb2 import HoldingRecords

Row: TypeAlias = dict[str, Any]
Held: TypeAlias = tuple[str, int, str, str, bool]
"""Namespace, group id, name, URL, and whether it was put."""


@dataclass(frozen=True, slots=True)
class Renewal:
    """How rows are restored.

    Attributes:
        number: Above those of all orders from before.
        at: By the clock of the database.
        keeps_marks: Whether all events since the backup are still there: one that is not may have cleared a mark.
    """

    number: int
    at: datetime
    keeps_marks: bool

    def state(self, row: Row) -> tuple[Row, list[Held]]:
        """Return the row of a state as it is restored, and the stored pictures that it holds."""
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
        """Return the row of a stored picture as it is restored."""
        return row | {"attempt": self.number}
