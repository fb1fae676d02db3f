"""Describe the queues of reviewers, and their opinions by day."""

from __future__ import annotations

from datetime import date
from typing import Final, NamedTuple

from classifeed_cleanweb.domain.projects import PROJECTS
from classifeed_cleanweb.domain.review_terms import ReviewTerms
from classifeed_cleanweb.store import reviews
from classifeed_cleanweb.store.reviews import QueueFigures
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s

DAYS: Final = 7


class DayOfProject(NamedTuple):
    """Opinions in a project on a day, and their cost."""

    day: date
    project: str
    opinions: int
    cost: float


class Queues(NamedTuple):
    """All projects in order, and days with opinions, today first."""

    projects: list[QueueFigures]
    days: list[DayOfProject]


async def describe_queues(database: Database, terms: ReviewTerms) -> Queues:
    """Return the four projects and the last seven days."""
    async with database.transaction(timeout_s=remaining_s()) as tx:
        projects = await reviews.count_queues(tx, PROJECTS, deadline_s=terms.deadline_s)
        days = await reviews.count_opinions(tx, days=DAYS, time_zone=terms.time_zone)
    return Queues(projects, [DayOfProject(*figures, cost=figures.opinions * terms.opinion_cost) for figures in days])
