"""Measure waiting reviews by project, and waiting callbacks."""

from __future__ import annotations

from classifeed_cleanweb.domain.projects import PROJECTS
from classifeed_cleanweb.metrics import (
    CALLBACKS_GIVEN_UP,
    CALLBACKS_WAITING,
    LATE,
    OLDEST,
    OLDEST_CALLBACK,
    REVIEWERS,
    WAITING,
)
from classifeed_cleanweb.store import callbacks, reviews
from classifeed_common.db import Database


async def measure_queues(database: Database, *, deadline_s: float) -> dict[str, str]:
    """Set the gauges; return the number of given-up callbacks for readiness.

    Args:
        database: database of the reviews.
        deadline_s: age in seconds from which a review is late.
    """
    async with database.connection() as connection:
        found = await reviews.count_queues(connection, PROJECTS, deadline_s=deadline_s)
        waiting, given_up, oldest_s = await callbacks.count_callbacks(connection)
    for figures in found:
        WAITING.labels(figures.project).set(figures.waiting)
        OLDEST.labels(figures.project).set(figures.oldest_s)
        LATE.labels(figures.project).set(figures.late)
        REVIEWERS.labels(figures.project).set(figures.reviewers)
    CALLBACKS_WAITING.set(waiting)
    CALLBACKS_GIVEN_UP.set(given_up)
    OLDEST_CALLBACK.set(oldest_s)
    if not given_up:
        return {}
    return {"callbacks": f"{given_up} callbacks were given up. Correct their receivers, then call ResendCallbacks."}
