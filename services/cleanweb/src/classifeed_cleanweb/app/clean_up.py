"""Retention: which records cleanweb deletes, and at which age (ADR 0036)."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from classifeed_cleanweb.store.reviews import SQL
from classifeed_common.db import Tx
from classifeed_jobs import CleanUp, until_nothing_is_left

CLEAN_UP: Final = "cleanweb.clean-up"
_ROWS: Final = 2000


def cleanweb_clean_up(*, requests_days: int, kept_reviews_s: float) -> CleanUp:
    """Return the clean-up.

    Args:
        requests_days: days that ended requests are kept, with their reviews and opinions.
        kept_reviews_s: seconds that reviews are kept for equal texts.
    """
    ages = {"delete_requests": timedelta(days=requests_days), "delete_kept": timedelta(seconds=kept_reviews_s)}
    return CleanUp(
        CLEAN_UP,
        [
            until_nothing_is_left(partial(_remove, statement=statement, age=age), limit=_ROWS)
            for statement, age in ages.items()
        ],
    )


async def _remove(tx: Tx, at: datetime, limit: int, *, statement: str, age: timedelta) -> int:
    return (await tx.execute(SQL[statement], {"before": at - age, "limit": limit})).rowcount
