"""Run: the execution of a claimed job, from its args to its completion."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import aclosing, closing, contextmanager
from functools import partial
from typing import Any

import structlog

from classifeed_common.db import Database
from classifeed_common.errors import name_fault
from classifeed_common.faults.interruptions import INTERRUPTIONS
from classifeed_common.faults.passing import is_passing
from classifeed_common.ids import new_incident
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_jobs.claim.claim import (
    CANCELED,
    FAILED,
    FAULT,
    RETRY,
    RETURNED,
    SNOOZED,
    SUCCEEDED,
    UNREADABLE,
    Claim,
    Completion,
)
from classifeed_jobs.model.outcomes import ClaimLost, Fail, Progress, Retry, Snooze, StopRequested
from classifeed_jobs.model.retry import Linear
from classifeed_jobs.model.storable import NotStorable, clean_text, json_text
from classifeed_jobs.model.task import InvalidArgs, Task
from classifeed_jobs.task.context import JobContext, StopReason

_log = structlog.get_logger("classifeed_jobs.worker.run")
_UNKNOWN_TASK_BACKOFF = Linear()


class Run:
    """The execution of one claim.

    `handle` never raises. It returns the completion of the claim, or None if the claim is lost. `stop` signals it to
    end early: at the next yield, await or `raise_if_stopped`, depending on the kind of the handler.
    """

    def __init__(
        self, claim: Claim, tasks: Mapping[str, Task], database: Database, resources: Any, threads: Executor
    ) -> None:
        self.claim = claim
        self.key = claim.key
        self.task = tasks.get(claim.task)
        self._known_tasks = tasks
        self._threads = threads
        self._loop = asyncio.get_running_loop()
        self.context = JobContext(claim, database, resources, self._loop)
        self._running: asyncio.Task[Any] | None = None

    def stop(self, reason: StopReason, *, now: bool = False) -> None:
        """Request the run to end. The first reason is kept, but a lost claim overrides it.

        Args:
            reason: Reason that determines the completion.
            now: Whether to cancel a generator without waiting for its next yield.
        """
        if self.context.stop_reason is None or reason == "lost":
            self.context.stop_reason = reason
        if self._running is None or self.task is None:
            return
        if self.task.kind == "coroutine" or (self.task.kind == "generator" and (now or reason == "lost")):
            self._running.cancel()

    async def handle(self) -> Completion | None:
        """Run the handler and return the completion; None if the claim is lost."""
        try:
            return await self._handle()
        except INTERRUPTIONS:
            raise
        except BaseException as error:  # noqa: BLE001 - becomes the outcome of the run
            # An error of the engine must not leave the claim without a completion.
            _log.exception("worker.run.fault", job_id=str(self.claim.job_id))
            return self._completion_of(RETRY, message=name_fault(error), delay_s=30.0)

    async def _handle(self) -> Completion | None:
        if self.claim.damage is not None:
            return self._completion_of(UNREADABLE, self.claim.damage)
        if self.task is None:
            known = ", ".join(sorted(self._known_tasks)) or "none"
            missing = f"no task {self.claim.task!r} is registered in the worker of queue {self.claim.queue!r}"
            # A worker of another version may know the task. An attempt is used up, so that the job fails eventually.
            _log.warning("worker.task.unknown", job_id=str(self.claim.job_id), task=self.claim.task)
            delay_s = _UNKNOWN_TASK_BACKOFF.delay_s(self.claim.attempt)
            return self._completion_of(RETRY, f"{missing}; it knows {known}", delay_s=delay_s)
        try:
            args = self.task.parse_args(self.claim.args)
        except InvalidArgs as error:
            return self._retry(self.task, str(error), None)
        self._running = asyncio.current_task()
        bound: asyncio.Timeout | None = None
        try:
            self.context.raise_if_stopped()
            if self.task.max_run_s is None or self.task.in_thread:
                result = await self._call(self.task, args)
            else:
                async with asyncio.timeout(self.task.max_run_s) as bound:
                    result = await self._call(self.task, args)
        except ClaimLost:
            return None
        except (StopRequested, asyncio.CancelledError) as error:
            return self._stopped(error)
        except Snooze as snooze:
            return self._completion_of(SNOOZED, delay_s=snooze.for_s)
        except Fail as fail:
            return self._completion_of(FAILED, fail.reason)
        except Retry as retry:
            return self._retry(self.task, retry.reason, retry.after_s)
        except INTERRUPTIONS:
            raise
        except BaseException as error:  # noqa: BLE001 - becomes the outcome of the run
            if bound is not None and bound.expired():
                return self._retry(self.task, f"ran longer than {self.task.max_run_s:g} s and was cancelled", None)
            if self.context.stop_reason is not None:
                return self._stopped(error)
            return self._failed(self.task, error)
        finally:
            self._running = None
        return self._succeeded(result)

    async def _call(self, task: Task, args: Any) -> Any:
        if task.kind == "coroutine":
            return await task.handler(self.context, args)
        if task.in_thread:
            return await self._call_in_thread(task, args)
        async with aclosing(task.handler(self.context, args)) as steps:
            async for step in steps:
                if isinstance(step, Progress):
                    self.context.report(step)
                self.context.raise_if_stopped()
        return None

    async def _call_in_thread(self, task: Task, args: Any) -> Any:
        handler = _exhaust if task.kind == "sync generator" else task.handler
        rest = (task.handler, self.context, args) if task.kind == "sync generator" else (self.context, args)
        # A copy of the context variables, so that logs and spans of the thread belong to this run.
        call = partial(contextvars.copy_context().run, handler, *rest)
        overdue = self._loop.call_later(task.max_run_s, self._stop_overdue) if task.max_run_s is not None else None
        try:
            return await self._loop.run_in_executor(self._threads, call)
        finally:
            if overdue is not None:
                overdue.cancel()

    def _stop_overdue(self) -> None:
        # A thread cannot be cancelled, and its lock key must not be released while it runs.
        _log.warning("worker.run.overdue", job_id=str(self.claim.job_id), task=self.claim.task)
        self.stop("overdue")

    def _stopped(self, error: BaseException) -> Completion | None:
        reason = self.context.stop_reason
        if reason == "lost":
            return None
        if reason == "cancel":
            return self._completion_of(CANCELED)
        if reason == "drain":
            return self._completion_of(RETURNED)
        assert self.task is not None
        if reason == "overdue":
            return self._retry(self.task, f"ran longer than {self.task.max_run_s:g} s and was stopped", None)
        return self._retry(self.task, f"the handler ended by {type(error).__name__} that was not requested", None)

    def _succeeded(self, result: Any) -> Completion:
        if result is None:
            return self._completion_of(SUCCEEDED)
        try:
            json_text("it", result)
        except NotStorable as error:
            return self._completion_of(FAILED, f"the result cannot be stored: {error}")
        return self._completion_of(SUCCEEDED, result=result)

    def _failed(self, task: Task, error: BaseException) -> Completion:
        job: dict[str, Any] = {"job_id": str(self.claim.job_id), "task": task.name, "attempt": self.claim.attempt}
        if task.max_unknown_faults is None or is_passing(error):
            completion = self._retry(task, name_fault(error), None)
            with _encodable(name_fault(error), **job):
                log_fault(_log, "worker.run.failed", error, retry_in_s=completion.delay_s, **job)
            return completion
        # The error may recur at each attempt. The id lets an operator find it in the log.
        incident = new_incident()
        with _encodable(name_fault(error), **job, incident=incident):
            _log.error("worker.run.unknown_fault", **job, incident=incident, exc_info=error)
        delay_s = task.backoff.delay_s(self.claim.attempt)
        completion = self._completion_of(FAULT, f"incident {incident}: {name_fault(error)}", delay_s=delay_s)
        return completion._replace(max_faults=task.max_unknown_faults, incident=incident)

    def _retry(self, task: Task, reason: str, after_s: float | None) -> Completion:
        delay_s = task.backoff.delay_s(self.claim.attempt) if after_s is None else after_s
        return self._completion_of(RETRY, reason, delay_s=delay_s)

    def _completion_of(
        self,
        outcome: str,
        message: str | None = None,
        *,
        result: Any = None,
        delay_s: float = 0.0,
    ) -> Completion:
        clean = clean_text(message) if message is not None else None
        completion = self.claim.completion(outcome, clean, result=result, delay_s=max(0.0, delay_s))
        if (report := self.context.unsaved_progress) is not None:
            completion = completion._replace(progress=json.dumps(report.to_json()))
        if self.task is not None and self.task.on_failed is not None and outcome != SUCCEEDED:
            return completion._replace(needs_transaction=True)
        return completion


@contextmanager
def _encodable(message: str, **fields: Any) -> Iterator[None]:
    """Log a cleaned message if the block fails to log: the text of an exception may not be encodable."""
    try:
        yield
    except UnicodeError:
        _log.error("worker.run.failed", error=clean_text(message), **fields)


def _exhaust(handler: Callable[..., Generator[Any, None, Any]], context: JobContext, args: Any) -> Any:
    """Run a sync generator to its end, and return its result."""
    with closing(handler(context, args)) as steps:
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            if isinstance(step, Progress):
                context.report(step)
            context.raise_if_stopped()
