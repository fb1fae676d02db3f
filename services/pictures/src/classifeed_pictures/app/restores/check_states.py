"""Checks all states after a table was restored without the others, and has lost rows made again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from classifeed.pictures.v1.events_pb2 import LookAgain
from classifeed_common.db import Database, Tx
from classifeed_common.outbox import Outbox
from classifeed_jobs import JobStore
from classifeed_pictures.app.backups.refetch_damaged import fetch_again
from classifeed_pictures.app.events.compose_messages import look_messages
from classifeed_pictures.domain.lifecycle.order_keys import download_key, resize_key
from classifeed_pictures.domain.lifecycle.states import Holding
from classifeed_pictures.store.backups import marks
from classifeed_pictures.store.states.damaged_rows import list_holdings
from classifeed_pictures.store.states.states import get_now

_STATES: Final = 500

Check = Callable[[Tx, Sequence[tuple[Any, Holding]], Outbox], Awaitable[int]]
"""Takes rows of states with the holding of each namespace; returns the number of lost pictures that were put."""


@dataclass(frozen=True, slots=True)
class CheckStates:
    """Checks the next states after a table was restored without the others; for a Loop.

    Attributes:
        database: database with the tables.
        outbox: outbox for notices of pictures.
        table: table that is repaired.
        check: sends notices about lost rows.
    """

    database: Database
    outbox: Outbox
    table: str
    check: Check

    async def __call__(self) -> bool:
        """Check a slice of the states; return whether there may be more."""
        async with self.database.transaction() as tx:
            after = await marks.lock_check(tx, self.table)
            if after is None:
                return False
            rows = await marks.list_states(tx, after=after, limit=_STATES)
            holdings: Mapping[bytes, Mapping[str, Holding]]
            holdings, _ = await list_holdings(tx, rows)
            held = [(row, holding) for row in rows for holding in holdings[bytes(row.url_hash)].values()]
            lost_puts = await self.check(tx, held, self.outbox)
            is_last = len(rows) < _STATES
            through = None if is_last else bytes(rows[-1].url_hash)
            await marks.note_check(tx, self.table, through=through, lost_puts=lost_puts)
        self.outbox.wake()
        return not is_last


async def refetch_unstored(tx: Tx, held: Sequence[tuple[Any, Holding]], outbox: Outbox) -> int:
    """Have pictures downloaded again that states hold but that are not stored."""
    kept = [
        (row, (holding.info.namespace, holding.info.group_id, holding.info.name))
        for row, holding in held
        if holding.info is not None
    ]
    missing = await marks.list_missing(tx, [place for _, place in kept])
    lost = {kept[number][0].url: kept[number][0].is_put for number in missing}
    await fetch_again(tx, list(lost.items()), outbox=outbox)
    return sum(lost.values())


@dataclass(frozen=True, slots=True)
class RepeatOrders:
    """Repeats orders that no job carries out; a check of CheckStates.

    An order that no consumer has read yet has no job either. It is sent twice, and the later one counts.

    Attributes:
        jobs: job store of the service.
    """

    jobs: JobStore

    async def __call__(self, tx: Tx, held: Sequence[tuple[Any, Holding]], outbox: Outbox) -> int:
        """Send notices of lost orders."""
        awaited = {
            (row.url, holding.attempt): {
                make(bytes(row.url_hash), holding.attempt) for make in (download_key, resize_key)
            }
            for row, holding in held
            if holding.ordered_at is not None
        }
        unknown = await self.jobs.list_unknown_keys(tx, [key for keys in awaited.values() for key in keys])
        lost: dict[str, list[int]] = {}
        for (url, attempt), keys in awaited.items():
            if unknown.issuperset(keys):
                lost.setdefault(url, []).append(attempt)
        looks = {url: LookAgain(force=True, lost_attempts=attempts) for url, attempts in lost.items()}
        await outbox.put(tx, look_messages(looks, await get_now(tx)))
        return 0
