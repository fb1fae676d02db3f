"""Execution slots: the asyncio tasks of one process that run the jobs of one queue."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Final

import structlog

from classifeed_jobs.worker.run import Run

_log = structlog.get_logger("classifeed_jobs.worker.slots")
_SHORT_RUN_S: Final = 0.1
_MAX_WAIT_S: Final = 0.5
_YIELD_INTERVAL_S: Final = 0.002


class ExecutionSlots:
    """The claimed jobs of one queue, and up to `concurrency` asyncio tasks that run them one after the other.

    A separate task for each job would cost short jobs a fifth of their time. Like a task, each run has its own copy of
    the context variables. The event loop gets control between jobs that never wait.

    While runs are short, jobs may be claimed before a slot is free, so that slots do not wait for claims. A job that
    gets no slot within half a second is requeued, and prefetching stops until runs are short again.

    Args:
        concurrency: Maximum number of running jobs.
        prefetch: Maximum number of further claimed jobs, as a multiple of the concurrency.
        handle: Coroutine function that runs a job to its completion; it must not raise.
        return_run: Callback with a run that got no slot in time.
    """

    def __init__(
        self,
        concurrency: int,
        prefetch: float,
        *,
        handle: Callable[[Run], Coroutine[Any, Any, None]],
        return_run: Callable[[Run], None],
    ) -> None:
        self._concurrency = concurrency
        self._ahead = int(concurrency * prefetch)
        self._handle = handle
        self._return_run = return_run
        self._waiting: deque[tuple[Run, float]] = deque()
        self._claimed = 0
        self._is_quick = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_starting = False
        self._is_closed = False
        self._wait_timer: asyncio.TimerHandle | None = None

    @property
    def room(self) -> int:
        """Number of jobs that may be claimed now."""
        return self._concurrency + (self._ahead if self._is_quick else 0) - self._claimed

    def put(self, run: Run) -> None:
        """Run a claimed job. `ended` must be called afterwards, for any outcome."""
        self._claimed += 1
        self._waiting.append((run, time.monotonic()))
        self._start_one()
        if self._wait_timer is None:
            self._wait_timer = asyncio.get_running_loop().call_later(_MAX_WAIT_S, self._return_overdue)

    def ended(self) -> None:
        """Release the slot of a claimed job."""
        self._claimed -= 1

    def clear(self) -> list[Run]:
        """Remove and return the jobs that wait for a slot."""
        waiting = [run for run, _ in self._waiting]
        self._waiting.clear()
        return waiting

    async def close(self) -> None:
        """Cancel all running jobs."""
        self._is_closed = True
        if self._wait_timer is not None:
            self._wait_timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start_one(self) -> None:
        """Start one task, which starts the next one: if jobs never wait, few tasks are enough for many jobs."""
        if self._waiting and not self._is_starting and len(self._tasks) < self._concurrency:
            self._is_starting = True
            task = asyncio.create_task(self._work(), name="job-runner")
            self._tasks.add(task)
            task.add_done_callback(self._left)

    def _left(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("worker.runner.fault", exc_info=error)
        if not self._is_closed:
            self._start_one()  # a job may have come since the last poll

    async def _work(self) -> None:
        self._is_starting = False
        this = asyncio.current_task()
        assert this is not None
        yielded_at = time.monotonic()
        while self._waiting and not self._is_closed:
            run, _ = self._waiting.popleft()
            self._start_one()
            began = time.monotonic()
            await _run_apart(self._handle(run))
            now = time.monotonic()
            self._is_quick = now - began < _SHORT_RUN_S
            if this.cancelling():
                return  # the cancellation was for that run, and may still be pending
            if now - yielded_at > _YIELD_INTERVAL_S:
                await asyncio.sleep(0)
                yielded_at = time.monotonic()

    def _return_overdue(self) -> None:
        self._wait_timer = None
        now = time.monotonic()
        while self._waiting and now - self._waiting[0][1] >= _MAX_WAIT_S:
            self._is_quick = False
            self._return_run(self._waiting.popleft()[0])
        if self._waiting:
            left_s = self._waiting[0][1] + _MAX_WAIT_S - now
            self._wait_timer = asyncio.get_running_loop().call_later(left_s, self._return_overdue)


@coroutine
def _run_apart(job: Coroutine[Any, Any, None]) -> Generator[Any, Any, None]:
    """Await a coroutine in a copy of the context, so that the next coroutine does not see its context variables."""
    context = contextvars.copy_context()
    step: Callable[[Any], Any] = job.send
    value: Any = None
    while True:
        try:
            awaited = context.run(step, value)
        except StopIteration:
            return
        try:
            value = yield awaited
            step = job.send
        except GeneratorExit:
            context.run(job.close)
            raise
        except BaseException as error:  # noqa: BLE001 - raised inside the coroutine
            value = error
            step = job.throw
