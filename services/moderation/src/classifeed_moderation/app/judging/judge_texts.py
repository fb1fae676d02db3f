"""TextJudge: workers that take texts from the queue in memory and have them judged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from classifeed_common.telemetry.fault_log import log_fault
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.app.decisions.record_verdicts import Recordable, VerdictRecorder, WithPeople
from classifeed_moderation.app.judging.queue_texts import TaskQueue
from classifeed_moderation.clients.breaker import Breaker
from classifeed_moderation.clients.pacer import Pacer
from classifeed_moderation.clients.verdict_service import Outcome, Response, VerdictService
from classifeed_moderation.domain.subjects import Task
from classifeed_moderation.metrics import REQUESTS

_log = structlog.get_logger(__name__)


class TextJudge:
    """Requests verdicts, `workers` at a time, and has them recorded. What fails stays as it is until it is due."""

    def __init__(
        self,
        queue: TaskQueue,
        service: VerdictService,
        recorder: VerdictRecorder,
        breaker: Breaker,
        *,
        workers: int,
        pacer: Pacer | None = None,
    ) -> None:
        self._queue = queue
        self._service = service
        self._recorder = recorder
        self._breaker = breaker
        self._workers = workers
        self._pacer = pacer

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; texts under way are given up, and are due again after RETRY_INTERVAL_S."""
        self._queue.open()
        workers = [asyncio.create_task(self._work(), name=f"judge-{number}") for number in range(self._workers)]
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([stopping, *workers], return_when=asyncio.FIRST_COMPLETED)
            for worker in workers:
                if worker.done():
                    worker.result()
        finally:
            self._queue.close()
            for task in (stopping, *workers):
                task.cancel()
            await asyncio.gather(stopping, *workers, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            tasks = await self._queue.take()
            try:
                await self._judge(tasks)
            except Exception as error:  # noqa: BLE001 - a text that fails must not end the others' worker
                log_fault(_log, "moderation.response.not_recorded", error, key=tasks[0].key, texts=len(tasks))
            finally:
                self._queue.done(tasks)

    async def _judge(self, tasks: Sequence[Task]) -> None:
        found: list[Recordable] = []
        failed: dict[tuple[str, str], list[str]] = {}
        for task, response in zip(tasks, await self.request(tasks), strict=True):
            if response.fault:
                failed.setdefault((response.outcome, response.fault), []).append(task.key)
            if response.outcome is Outcome.VERDICTS:
                found.append(Arrived(task.sent_key, response.verdict_list))
            elif response.outcome is Outcome.PEOPLE:
                found.append(WithPeople(task))
        for (outcome, fault), keys in failed.items():
            _log.info("moderation.request.failed", key=keys[0], texts=len(keys), outcome=outcome, fault=fault)
        if found:
            await self._recorder.record(found, gathers=True)

    async def request(self, tasks: Sequence[Task]) -> list[Response]:
        """Request verdicts about texts, as the breaker lets it; nothing is recorded."""
        await self._breaker.enter()
        succeeded: bool | None = None
        try:
            if self._pacer is not None:
                await self._pacer.wait(len(tasks))
            responses = await self._service.request(tasks)
            succeeded = any(response.outcome in (Outcome.VERDICTS, Outcome.PEOPLE) for response in responses)
            for response in responses:
                REQUESTS.labels(response.outcome).inc()
            return responses
        finally:
            self._breaker.leave(succeeded=succeeded)
