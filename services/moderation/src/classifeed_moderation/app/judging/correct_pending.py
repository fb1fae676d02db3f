"""PendingCorrector: puts due texts on the queue, regardless of earlier failures."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from classifeed_common.db import Database
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.pacing.gathering import gather_records
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.app.decisions.record_verdicts import VerdictRecorder
from classifeed_moderation.app.judging.claim_texts import ClaimTexts
from classifeed_moderation.app.judging.queue_texts import TaskQueue
from classifeed_moderation.domain.subjects import Kind, Task
from classifeed_moderation.metrics import OLDEST, SAVED, WAITING
from classifeed_moderation.store import decisions, subjects

_BATCH: Final = 500
_GATHER_S: Final = 0.25
_log = structlog.get_logger(__name__)


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
        recorder: VerdictRecorder,
        *,
        check_interval_s: float,
        retry_interval_s: float,
        kept_verdicts_s: float,
    ) -> None:
        self._database = database
        self._queue = queue
        self._recorder = recorder
        self._check_s = check_interval_s
        self._claim = ClaimTexts(retry_s=retry_interval_s)
        self._kept_s = kept_verdicts_s
        self._woken = {kind: asyncio.Event() for kind in Kind}
        self._faults = {kind: LastingFault() for kind in Kind}

    def wake(self) -> None:
        """Look for due texts now; call it after a commit that made texts due."""
        for woken in self._woken.values():
            woken.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Correct until `stop`."""
        async with asyncio.TaskGroup() as group:
            for kind in Kind:
                group.create_task(self._run_kind(kind, stop))

    async def round(self, kind: Kind) -> bool:
        """Claim texts of a kind until none is due or the queue is full; return whether the queue is full."""
        while room := min(self._queue.room(kind), _BATCH):
            async with self._database.transaction() as tx:
                due = await self._claim(tx, kind, room)
                keys = {text.cache_key for text in due if not text.is_recheck}
                kept = await decisions.find_kept(tx, keys, age_s=self._kept_s) if keys else {}
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
                faults = await self._recorder.write(known)
                SAVED.inc(len(known) - len(faults))
            if len(due) < room:
                return False
        return True

    async def measure(self) -> dict[str, str]:
        """Set the metrics of waiting texts, for a Watch. Nothing is reported as blocked."""
        async with self._database.connection() as connection:
            waiting = await subjects.count_waiting(connection)
        for kind in Kind:
            count, oldest_s = waiting.get(kind, (0, 0.0))
            WAITING.labels(kind.lower()).set(count)
            OLDEST.labels(kind.lower()).set(oldest_s)
        return {}

    def blocked(self) -> dict[str, str]:
        """Return why texts that are due cannot be queued, by kind, if that has failed for a while."""
        blocked: dict[str, str] = {}
        for kind, fault in self._faults.items():
            texts = f"{kind.lower()} texts"
            blocked |= fault.blocked(texts, f"queueing {texts} that are due", "They wait for their verdicts")
        return blocked

    async def backlog(self) -> dict[str, int]:
        """Return the number of waiting texts by kind."""
        async with self._database.connection() as connection:
            waiting = await subjects.count_waiting(connection)
        return {f"{kind.lower()}_texts": count for kind, (count, _) in waiting.items()}

    async def _run_kind(self, kind: Kind, stop: asyncio.Event) -> None:
        woken, fault = self._woken[kind], self._faults[kind]
        while not stop.is_set():
            woken.clear()
            is_full = False
            began_s = time.monotonic()
            try:
                is_full = await self.round(kind)
                fault.clear()
            except Exception as error:  # noqa: BLE001 - the next round may succeed after any fault
                log_fault(_log, "moderation.round.failed", error, retry_in_s=self._check_s, noted_in=fault)
            if not is_full:
                await gather_records(began_s, stop, longest_s=_GATHER_S)
            await self._pause(self._queue.half_empty(kind) if is_full else woken, stop, is_full=is_full)

    async def _pause(self, event: asyncio.Event, stop: asyncio.Event, *, is_full: bool) -> None:
        """Wait for an event until the next check; wait for a full queue without limit."""
        waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(stop.wait())]
        try:
            await asyncio.wait(waits, timeout=None if is_full else self._check_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
