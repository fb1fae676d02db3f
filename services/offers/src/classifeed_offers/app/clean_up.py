"""Retention: which records offers deletes, and at which age (ADR 0036)."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from classifeed_common.db import Tx
from classifeed_jobs import Begin, CleanUp, Cursor, Slice, until_nothing_is_left
from classifeed_offers.store import applying, cleaning

CLEAN_UP: Final = "offers.clean-up"
_ROWS: Final = 2000
# The guard reads the days of one week; a day may end between the two.
_SIZES: Final = timedelta(days=7)


def offers_clean_up(*, history_days: int, removed_days: int) -> CleanUp:
    """Return the clean-up.

    Args:
        history_days: days that batches and ends of superseded tasks are kept.
        removed_days: days that a removed offer is kept; more than the receiver keeps its tombstones.
    """
    history, removed = timedelta(days=history_days), timedelta(days=removed_days)
    return CleanUp(
        CLEAN_UP,
        [
            until_nothing_is_left(partial(_remove_batches, age=history), limit=_ROWS),
            until_nothing_is_left(partial(_remove_ends, age=history), limit=_ROWS),
            until_nothing_is_left(_remove_waiting, limit=_ROWS),
            until_nothing_is_left(_remove_sizes, limit=_ROWS),
            partial(remove_offers, age=removed),
        ],
    )


async def remove_offers(
    begin: Begin, at: datetime, _cursor: Cursor | None, *, age: timedelta, limit: int = _ROWS
) -> Slice:
    """Delete up to `limit` offers of one namespace that were removed and published as removed `age` ago or earlier."""
    before = at - age
    async with begin() as tx:
        namespace = await cleaning.find_removed(tx, before=before)
        if namespace is None:
            return Slice(next=None)
        await applying.lock_heads(tx, {namespace})
        return Slice(next=True, processed=await cleaning.delete_removed(tx, namespace, before=before, limit=limit))


async def _remove_batches(tx: Tx, at: datetime, limit: int, *, age: timedelta) -> int:
    return await cleaning.delete_batches(tx, before=at - age, limit=limit)


async def _remove_ends(tx: Tx, at: datetime, limit: int, *, age: timedelta) -> int:
    return await cleaning.delete_ends(tx, before=at - age, limit=limit)


async def _remove_waiting(tx: Tx, _at: datetime, limit: int) -> int:
    return await cleaning.delete_waiting(tx, limit=limit)


async def _remove_sizes(tx: Tx, at: datetime, limit: int) -> int:
    return await cleaning.delete_sizes(tx, before=at - _SIZES, limit=limit)
