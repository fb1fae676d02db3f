"""TextJudge: workers that take texts from the queue in memory and request verdicts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import structlog

from classifeed_common.db import is_passing_fault
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.loops import race, retry
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.app.decisions.record_verdicts import Recordable, RecordVerdicts, WithPeople
from classifeed_moderation.app.judging.queue_texts import TaskQueue
from classifeed_moderation.clients.breaker import Breaker
from classifeed_moderation.clients.pacer import Pacer
from classifeed_moderation.clients.verdict_service import Outcome, Response, VerdictService
from classifeed_moderation.domain.subjects import Task
from classifeed_moderation.metrics import REQUESTS

_RECORD_PAUSE_S: Final = 0.1
_RECORD_LONGEST_PAUSE_S: Final = 5.0
_RECORD_LIMIT_S: Final = 45.0  # after that, the texts are about to be due again
_FORGET_FAULT_S: Final = 600.0  # waiting texts are requested every minute
_log = structlog.get_logger(__name__)


class RequestFailed(Exception):
    """Fault of a request to the verdict service, from its response or without one."""


class TextJudge:
    """Requests verdicts with `workers` workers and records them. A failed text waits until it is due again."""

    def __init__(
        self,
        queue: TaskQueue,
        service: VerdictService,
        record_verdicts: RecordVerdicts,
        breaker: Breaker,
        *,
        workers: int,
        pacer: Pacer | None = None,
    ) -> None:
        self._queue = queue
        self._service = service
        self._record_verdicts = record_verdicts
        self._breaker = breaker
        self._workers = workers
        self._pacer = pacer
        self._request_fault = LastingFault(forget_after_s=_FORGET_FAULT_S)
        self._record_fault = LastingFault(forget_after_s=_FORGET_FAULT_S)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; texts in progress are abandoned, and are due again after RETRY_INTERVAL_S."""
        self._queue.open()
        try:
            for worker in await race(stop, *(self._work() for _ in range(self._workers))):
                if not worker.cancelled():
                    worker.result()
        finally:
            self._queue.close()

    def blocked(self) -> dict[str, str]:
        """Return why no verdicts arrive, or why they cannot be recorded, if that has lasted."""
        return {
            **self._request_fault.blocked("verdicts", "requesting verdicts", "Texts wait for them"),
            **self._record_fault.blocked("decisions", "recording verdicts", "Their texts are requested again"),
        }

    async def _work(self) -> None:
        while True:
            tasks = await self._queue.take()
            try:
                if await self._judge(tasks):
                    self._record_fault.clear()
            except Exception as error:  # noqa: BLE001 - a failed text must not end the worker
                log_fault(_log, "moderation.response.not_recorded", error, key=tasks[0].key, texts=len(tasks))
                self._record_fault.note(error)
            finally:
                self._queue.done(tasks)

    async def _judge(self, tasks: Sequence[Task]) -> bool:
        """Request verdicts and record them; return whether there were any."""
        found: list[Recordable] = []
        failed: dict[tuple[str, str], list[str]] = {}
        for task, response in zip(tasks, await self.request(tasks), strict=True):
            if response.fault:
                failed.setdefault((response.outcome, response.fault), []).append(task.key)
            if response.outcome is Outcome.VERDICTS:
                found.append(Arrived(task.sent_key, response.verdict_list, is_response=True))
            elif response.outcome is Outcome.PEOPLE:
                found.append(WithPeople(task))
        for (outcome, fault), keys in failed.items():
            _log.info("moderation.request.failed", key=keys[0], texts=len(keys), outcome=outcome, fault=fault)
        if found:
            await self._record(found)
        return bool(found)

    async def _record(self, found: Sequence[Recordable]) -> None:
        """Record verdicts, retrying through a restart of the database: the same verdicts must not be paid for twice."""
        limit_s = time.monotonic() + _RECORD_LIMIT_S

        def note(error: Exception, pause_s: float) -> None:
            if not is_passing_fault(error) or time.monotonic() + pause_s > limit_s:
                raise error
            self._record_fault.note(error)

        backoff = Backoff(_RECORD_PAUSE_S, _RECORD_LONGEST_PAUSE_S)
        await retry(lambda: self._record_verdicts(found, gathers=True), backoff, note)

    async def request(self, tasks: Sequence[Task]) -> list[Response]:
        """Request verdicts when the breaker permits it; nothing is recorded."""
        await self._breaker.enter()
        succeeded: bool | None = None
        try:
            if self._pacer is not None:
                await self._pacer.wait(len(tasks))
            responses = await self._service.request(tasks)
            succeeded = any(response.outcome in (Outcome.VERDICTS, Outcome.PEOPLE) for response in responses)
            for response in responses:
                REQUESTS.labels(response.outcome).inc()
            if succeeded:
                self._request_fault.clear()
            else:
                self._request_fault.note(RequestFailed(responses[0].fault))
            return responses
        finally:
            self._breaker.leave(succeeded=succeeded)
