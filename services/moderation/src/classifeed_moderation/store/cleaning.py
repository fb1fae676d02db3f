"""Retention: which records moderation deletes, and at which age (ADR 0036)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from classifeed_common.db import load_queries
from classifeed_jobs import CleanUp

CLEAN_UP: Final = "moderation.clean-up"
_CLOSINGS: Final = timedelta(days=2)
_SQL: Final = load_queries(__package__, "cleaning.sql")


def moderation_clean_up(*, decisions_days: int, kept_verdicts_s: float) -> CleanUp:
    """Return the clean-up.

    Args:
        decisions_days: days that superseded decisions, decided texts of offers and removed points are kept.
        kept_verdicts_s: seconds that verdicts are kept for equal texts.
    """
    decided = timedelta(days=decisions_days)
    ages = {
        "delete_offer_texts": decided,
        "delete_points": decided,
        "delete_decisions": decided,
        "delete_appeals": decided,
        "delete_rejudgements": decided,
        "delete_kept": timedelta(seconds=kept_verdicts_s),
        "delete_closings": _CLOSINGS,
    }
    return CleanUp.by_age(CLEAN_UP, {_SQL[statement]: age for statement, age in ages.items()})
