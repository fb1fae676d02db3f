"""Retries of what failed since some time, such as an outage."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from classifeed_common.errors import FailedPrecondition, NotFound
from classifeed_jobs.admin import JobAdmin
from classifeed_jobs.job import JobFilter

_PAGE: Final = 500


async def retry_failed_since(admin: JobAdmin, which: JobFilter, since: datetime, *, by: str) -> int:
    """Put failed jobs that fit and ended at `since` or later back into their queues, each in a transaction of its own.

    What fails again meanwhile stays; after a fault another call goes on.

    Returns:
        How many went back.
    """
    retried = 0
    for job_id in await _failed_since(admin, which, since):
        try:
            await admin.retry(job_id, by=by)
        except (FailedPrecondition, NotFound):
            continue  # somebody else was faster
        retried += 1
    return retried


async def _failed_since(admin: JobAdmin, which: JobFilter, since: datetime) -> list[UUID]:
    """All of them before the first one goes back: a page after that could hold one that has failed again."""
    found: list[UUID] = []
    after: UUID | None = None
    while True:
        page = await admin.list_jobs(which, status="failed", after=after, limit=_PAGE)
        found += [job.job_id for job in page.jobs if job.finished_at is not None and job.finished_at >= since]
        if page.next_after is None:
            return found
        after = page.next_after
