"""Retention: which records cleanweb deletes, and at which age (ADR 0036)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from classifeed_common.db import load_queries
from classifeed_jobs import CleanUp

CLEAN_UP: Final = "cleanweb.clean-up"
KEPT_S: Final = 30 * 86_400.0  # reviews, for equal texts
_SQL: Final = load_queries(__package__, "cleaning.sql")


def cleanweb_clean_up(*, requests_days: int) -> CleanUp:
    """Return the clean-up; ended requests are kept for `requests_days`, with their reviews and opinions."""
    ages = {"delete_requests": timedelta(days=requests_days), "delete_kept": timedelta(seconds=KEPT_S)}
    return CleanUp.by_age(CLEAN_UP, {_SQL[statement]: age for statement, age in ages.items()})
