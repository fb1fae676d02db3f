"""Retention: which records moderation deletes, and at which age (ADR 0036)."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_jobs import CleanUp, until_nothing_is_left

CLEAN_UP: Final = "moderation.clean-up"
_ROWS: Final = 2000
_CLOSINGS: Final = timedelta(days=2)
_SQL: Final = load_queries("classifeed_moderation.store", "cleaning.sql")


def moderation_clean_up(*, decisions_days: int, kept_verdicts_s: float) -> CleanUp:
    """Return the clean-up.

    Args:
        decisions_days: days that superseded decisions, decided texts of offers and removed points are kept.
        kept_verdicts_s: seconds that verdicts are kept for equal texts.
    """
    decided, kept = timedelta(days=decisions_days), timedelta(seconds=kept_verdicts_s)
    ages = {
        "delete_offer_texts": decided,
        "delete_points": decided,
        "delete_decisions": decided,
        "delete_appeals": decided,
        "delete_rejudgements": decided,
        "delete_kept": kept,
        "delete_closings": _CLOSINGS,
    }
    return CleanUp(
        CLEAN_UP,
        [
            until_nothing_is_left(partial(_remove, statement=statement, age=age), limit=_ROWS)
            for statement, age in ages.items()
        ],
    )


async def _remove(tx: Tx, at: datetime, limit: int, *, statement: str, age: timedelta) -> int:
    return (await tx.execute(_SQL[statement], {"before": at - age, "limit": limit})).rowcount
