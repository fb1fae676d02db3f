"""What pictures keeps, and for how long (ADR 0036)."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from classifeed_common.db import Tx
from classifeed_jobs import CleanUp, until_nothing_is_left
from classifeed_pictures.store.requests import delete_reported

CLEAN_UP: Final = "pictures.clean-up"
_ROWS: Final = 2000


def pictures_clean_up(*, waiting_days: int) -> CleanUp:
    """Return the clean-up.

    Args:
        waiting_days: how long a request is kept whose picture could not be had; whoever made it knows that.
    """
    waiting = timedelta(days=waiting_days)
    return CleanUp(CLEAN_UP, [until_nothing_is_left(partial(_remove_reported, age=waiting), limit=_ROWS)])


async def _remove_reported(tx: Tx, at: datetime, limit: int, *, age: timedelta) -> int:
    return await delete_reported(tx, before=at - age, limit=limit)
