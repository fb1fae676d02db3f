"""What moderation keeps, and for how long (ADR 0036)."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_jobs import CleanUp, until_nothing_is_left

CLEAN_UP: Final = "moderation.clean-up"
_ROWS: Final = 2000
_SQL: Final = load_queries("classifeed_moderation.store", "cleaning.sql")


def moderation_clean_up(*, decisions_days: int, kept_verdicts_s: float) -> CleanUp:
    """Return the clean-up.

    Args:
        decisions_days: how long decisions are kept that are not the newest of their text.
        kept_verdicts_s: how long verdicts are kept for equal texts.
    """
    return CleanUp(
        CLEAN_UP,
        [
            until_nothing_is_left(
                partial(_remove, statement="delete_decisions", age=timedelta(days=decisions_days)), limit=_ROWS
            ),
            until_nothing_is_left(
                partial(_remove, statement="delete_kept", age=timedelta(seconds=kept_verdicts_s)), limit=_ROWS
            ),
        ],
    )


async def _remove(tx: Tx, at: datetime, limit: int, *, statement: str, age: timedelta) -> int:
    return (await tx.execute(_SQL[statement], {"before": at - age, "limit": limit})).rowcount
