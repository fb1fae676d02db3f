"""Enqueue jobs for callbacks without one: a restore of the job tables has lost their jobs."""

from __future__ import annotations

from typing import Final

from classifeed_cleanweb.app.submit_opinion import EnqueueCallback
from classifeed_cleanweb.store import callbacks
from classifeed_common.db import Database

_PAGE_CALLBACKS: Final = 1000


class ResumeCallbacks:
    """Enqueues waiting callbacks, one page per call; a callback that has a job keeps it.

    Args:
        database: database of the callbacks.
        enqueue: enqueues a delivery once.
        age_s: age from which a callback may have lost its job, in seconds.
    """

    def __init__(self, database: Database, enqueue: EnqueueCallback, *, age_s: float) -> None:
        self._database = database
        self._enqueue = enqueue
        self._age_s = age_s
        self._after = 0

    async def __call__(self) -> dict[str, str]:
        """Enqueue the next page of callbacks; nothing is reported as blocked."""
        async with self._database.transaction() as tx:
            page = await callbacks.list_undelivered(tx, age_s=self._age_s, after=self._after, limit=_PAGE_CALLBACKS)
            for row in page:
                await self._enqueue(tx, row.callback_id, row.service, row.environment, row.key)
        self._after = page[-1].callback_id if len(page) == _PAGE_CALLBACKS else 0
        return {}
