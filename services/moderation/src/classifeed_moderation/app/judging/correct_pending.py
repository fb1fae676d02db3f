"""PendingCorrector: puts due texts on the queue, regardless of earlier failures."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Final

from classifeed_common.db import Database
from classifeed_common.loops import Loop, race
from classifeed_common.pacing.duty_cycle import gather_records
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.app.decisions.record_verdicts import RecordVerdicts
from classifeed_moderation.app.judging.claim_texts import ClaimTexts
from classifeed_moderation.app.judging.queue_texts import TaskQueue
from classifeed_moderation.domain.subjects import Kind, Task
from classifeed_moderation.metrics import OLDEST, SAVED, WAITING
from classifeed_moderation.store import decisions, subjects

_BATCH: Final = 500
_GATHER_S: Final = 0.25


class PendingCorrector:
    """Claims due texts every `check_interval_s`, oldest first, up to the room in the queue.

    A full queue, or a queue without workers, ends the round of its kind. The next round begins once there are workers
    and the queue is half empty. A text that equals one with kept verdicts is decided without a request. Of several
    equal texts, the first is requested, and its decision releases the others.
    """

    def __init__(
        self,
        database: Database,
        queue: TaskQueue,
        record_verdicts: RecordVerdicts,
        *,
        check_interval_s: float,
        retry_interval_s: float,
        kept_verdicts_s: float,
    ) -> None:
        self._database = database
        self._queue = queue
        self._record_verdicts = record_verdicts
        self._check_s = check_interval_s
        self._claim = ClaimTexts(retry_s=retry_interval_s)
        self._kept_s = kept_verdicts_s
        self._woken = {kind: asyncio.Event() for kind in Kind}
        self._loops = {kind: self._loop_of(kind) for kind in Kind}

    def wake(self) -> None:
        """Look for due texts now; call it after a commit that made texts due."""
        for woken in self._woken.values():
            woken.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Correct until `stop`."""
        async with asyncio.TaskGroup() as group:
            for loop in self._loops.values():
                group.create_task(loop.run(stop))

    async def round(self, kind: Kind) -> bool:
        """Claim texts of a kind until none is due or the queue is full; return whether the queue is full."""
        while room := min(self._queue.room(kind), _BATCH):
            async with self._database.transaction() as tx:
                due = await self._claim(tx, kind, room)
                keys = {text.cache_key for text in due if not text.is_recheck}
                kept = await decisions.list_kept(tx, keys, age_s=self._kept_s) if keys else {}
            known: list[Arrived] = []
            firsts: dict[bytes, Task] = {}
            for text in due:
                if text.cache_key in kept and not text.is_recheck:
                    known.append(Arrived(text.task.sent_key, kept[text.cache_key], keeps=False))
                else:
                    firsts.setdefault(text.cache_key, text.task)
            if firsts:
                self._queue.put_all(firsts.values())
            if known:
                faults = await self._record_verdicts.write(known)
                SAVED.inc(len(known) - len(faults))
            if len(due) < room:
                return False
        return True

    async def measure(self) -> dict[str, str]:
        """Set the metrics of waiting texts, for a Watch. Nothing is reported as blocked."""
        waiting = await self._count_waiting()
        for kind in Kind:
            count, oldest_s = waiting.get(kind, (0, 0.0))
            WAITING.labels(kind.lower()).set(count)
            OLDEST.labels(kind.lower()).set(oldest_s)
        return {}

    def blocked(self) -> dict[str, str]:
        """Return why texts that are due cannot be queued, by kind, if that has failed for a while."""
        return {item: why for loop in self._loops.values() for item, why in loop.blocked().items()}

    async def backlog(self) -> dict[str, int]:
        """Return the number of waiting texts by kind."""
        return {f"{kind.lower()}_texts": count for kind, (count, _) in (await self._count_waiting()).items()}

    async def _count_waiting(self) -> dict[Kind, tuple[int, float]]:
        async with self._database.connection() as connection:
            return await subjects.count_waiting(connection)

    def _loop_of(self, kind: Kind) -> Loop:
        texts = f"{kind.lower()} texts"
        return Loop(
            partial(self._correct, kind),
            period_s=self._check_s,
            name=texts,
            doing=f"queueing {texts} that are due",
            effect="They wait for their verdicts",
            wake=self._woken[kind],
            event="moderation.round.failed",
        )

    async def _correct(self, kind: Kind) -> bool:
        """Do one round; return True after a wait for a full queue to become half empty."""
        began_s = time.monotonic()
        stopping = self._loops[kind].stopping
        if await self.round(kind):
            self._loops[kind].note_success()
            await race(stopping, self._queue.half_empty(kind).wait())
            return True
        await gather_records(began_s, stopping, longest_s=_GATHER_S)
        return False
