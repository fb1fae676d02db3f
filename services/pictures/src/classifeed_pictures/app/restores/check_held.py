"""Have pictures downloaded again that states hold although they are not stored: their table was restored alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed_common.db import Database
from classifeed_common.outbox import Outbox
from classifeed_pictures.app.backups.refetch_damaged import fetch_again
from classifeed_pictures.store import marks
from classifeed_pictures.store.damaged_rows import read_holdings
from classifeed_pictures.store.marked_tables import STORED

_STATES: Final = 500


@dataclass(frozen=True, slots=True)
class HeldChecker:
    """Checks the next states, after `stored_pictures` was restored alone; for RepeatedWork.

    Attributes:
        database: with the tables.
        outbox: takes notices of pictures that must be downloaded again.
    """

    database: Database
    outbox: Outbox

    async def __call__(self) -> bool:
        """Check a slice of the states, and return whether there may be more."""
        async with self.database.transaction() as tx:
            after = await marks.lock_check(tx, STORED)
            if after is None:
                return False
            rows = await marks.list_states(tx, after=after, limit=_STATES)
            holdings, _ = await read_holdings(tx, rows)
            held = [
                (row, (holding.info.namespace, holding.info.group_id, holding.info.name))
                for row in rows
                for holding in holdings[bytes(row.url_hash)].values()
                if holding.info is not None
            ]
            missing = await marks.find_missing(tx, [place for _, place in held])
            lost = {held[number][0].url: held[number][0].is_put for number in missing}
            await fetch_again(tx, list(lost.items()), outbox=self.outbox)
            is_last = len(rows) < _STATES
            through = None if is_last else bytes(rows[-1].url_hash)
            await marks.note_check(tx, STORED, through=through, lost_puts=sum(lost.values()))
        self.outbox.wake()
        return not is_last
