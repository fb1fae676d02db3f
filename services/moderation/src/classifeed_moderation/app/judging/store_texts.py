"""StoreTexts: stores texts of points and comments, and hands them to the workers after the commit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from classifeed_common.db import Tx, after_commit
from classifeed_moderation.app.decisions.record_decisions import Deciding
from classifeed_moderation.app.judging.queue_texts import TaskQueue
from classifeed_moderation.domain.decisions import Decision, Maker
from classifeed_moderation.domain.rules import Judgement
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.store import subjects
from classifeed_moderation.store.subjects import NewSubject


class StoreTexts:
    """Stores texts as PENDING or approved, without waiting for the verdict service.

    After the commit, waiting texts are handed to the workers of this process. Texts without room are claimed once due.
    If this process has no workers, texts are due at once for another process.
    """

    def __init__(self, queue: TaskQueue, deciding: Deciding, *, retry_interval_s: float) -> None:
        self._queue = queue
        self._deciding = deciding
        self._retry_s = retry_interval_s

    async def __call__(self, tx: Tx, texts: Sequence[NewSubject], *, exemption: str = "") -> None:
        """Store the texts of new points and comments.

        An existing text under the same key belongs to a point or comment that a restore has lost: it is replaced.

        Args:
            tx: transaction that stores the owners of the texts.
            texts: new texts.
            exemption: reason why approved texts need no verdict; recorded as the rule of their decisions.
        """
        after_commit(tx, partial(self._enqueue, texts))
        retry_s = self._retry_s if self._queue.is_open else 0.0
        added = await subjects.add_subjects(tx, texts, retry_s=retry_s)
        if orphans := [text for text in texts if text.key not in added]:
            await subjects.delete_subjects(tx, [text.key for text in orphans])
            added |= await subjects.add_subjects(tx, orphans, retry_s=retry_s)
        exempt = [text.key for text in texts if text.key in added and text.status is Status.APPROVED]
        if not exempt:
            return
        locked = await subjects.lock_subjects(tx, exempt)
        made = [
            Decision(subject, Judgement(Status.APPROVED, exemption, subject.tags), (), is_automatic=True)
            for subject in locked.values()
        ]
        await self._deciding.record(tx, made, maker=Maker.EXEMPTION)

    def _enqueue(self, texts: Sequence[NewSubject]) -> None:
        for text in texts:
            if text.status is Status.PENDING:
                self._queue.put(text.task)
        self._deciding.outbox.wake()
