"""Fetcher: decides when to poll for jobs, and claims as many as the worker has free slots."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import structlog

from classifeed_common.db import Tx
from classifeed_common.faults.passing import is_passing
from classifeed_common.loops import Loop
from classifeed_common.pacing.backoff import Backoff
from classifeed_jobs.claim.claim import Claim
from classifeed_jobs.claim.damage import set_damaged_aside
from classifeed_jobs.claim.delayed import DelayedJobs
from classifeed_jobs.claim.fetch import ClaimResult, QueueCursor, claim_jobs
from classifeed_jobs.claim.limits import claim_within_limits
from classifeed_jobs.claim.shares import FreeSlots
from classifeed_jobs.model.job import Rank
from classifeed_jobs.model.task import Task
from classifeed_jobs.worker.process_lease import ProcessLease
from classifeed_jobs.worker.session import Session

_log = structlog.get_logger("classifeed_jobs.worker.fetcher")
_BATCH = 500
_CONTENDED_WAIT_S = 0.02
_FAULT_FIRST_S = 0.1
_FAULT_LONGEST_S = 5.0
_SAMPLE_S = 60.0
_SAMPLED_KEYS = 1000

Found = TypeVar("Found")


class Fetcher:
    """Polls when it is woken, when a delayed job is due, when a slot is free, or at the latest after `claim_backoff_s`.

    Args:
        session: Connection of the worker.
        limits: Second connection, for transactions of queues with limits; opened when needed.
        lease: Lease row of the process; registered here if it is missing or stale.
        queues: Queues to claim from.
        room: Function that returns how many more jobs of a queue may start now.
        start: Callback with each claim.
        slots: Function that returns the slots of a queue, if partition keys are limited to their share; None for no
            limit.
        tasks: Tasks whose failure hooks are called for jobs that are set aside.
        claim_backoff_s: Maximum seconds between two polls.
        fresh_s: Maximum age of the last heartbeat for a claim, in seconds.
    """

    def __init__(
        self,
        session: Session,
        limits: Session,
        lease: ProcessLease,
        queues: Sequence[str],
        *,
        room: Callable[[str], int],
        start: Callable[[Claim], None],
        slots: Callable[[str], FreeSlots | None] = lambda _: None,
        tasks: Mapping[str, Task] = MappingProxyType({}),
        claim_backoff_s: float,
        fresh_s: float,
    ) -> None:
        self._session = session
        self._limits = limits
        self._lease = lease
        self._queues = list(queues)
        self._room = room
        self._start = start
        self._slots = slots
        self._tasks = tasks
        self._claim_backoff_s = claim_backoff_s
        self._fresh_s = fresh_s
        self._woken = asyncio.Event()
        self._closing = asyncio.Event()
        self._next_poll_s = 0.0
        self._was_notified = False
        self._first = ""
        self._with_backlog: set[str] = set()
        self._limited: set[str] = set()
        self._cursors = {queue: QueueCursor() for queue in self._queues}
        self._due = DelayedJobs(self._queues)
        self._reported: dict[str, float] = {}
        self.loop = Loop(
            self._poll_in_time,
            period_s=claim_backoff_s,
            name="claims",
            doing="claiming jobs",
            effect="No further job starts here",
            backoff=Backoff(_FAULT_FIRST_S, _FAULT_LONGEST_S),
            wake=self._woken,
            on_fault=self._poll_all_next,
            event="worker.claim.failed",
        )

    def wake(self) -> None:
        """Poll now, because jobs may be ready."""
        self._was_notified = True
        self._woken.set()

    def poll_first(self, queue: str) -> None:
        """Poll now, starting with this queue."""
        self._first = queue
        self.wake()

    def released(self, queue: str) -> None:
        """Handle the end of a run of the queue: poll again if the queue had more jobs than free slots."""
        if queue in self._with_backlog:
            self._woken.set()

    def promoted(self, rank: Rank) -> None:
        """Handle a promoted job, which may be older than jobs that have been claimed already."""
        if (cursor := self._cursors.get(rank.queue)) is not None:
            cursor.scan_cursor.promoted(rank.priority, rank.created_at)

    def close(self) -> None:
        """Stop claiming; `run` returns after the current poll."""
        self._closing.set()

    async def run(self) -> None:
        """Claim until `close`. Errors are retried with back-off."""
        await self.loop.run(self._closing)

    def blocked(self) -> Mapping[str, str]:
        """Return why no jobs can be claimed, if that has failed for some time."""
        return self.loop.blocked()

    def _poll_all_next(self, _error: Exception) -> None:
        self._next_poll_s = 0.0

    async def _poll_in_time(self) -> float:
        await self._poll()
        return max(0.0, self._next_poll_s - time.monotonic())

    async def _poll(self) -> None:
        is_wide = self._was_notified or time.monotonic() >= self._next_poll_s
        self._was_notified = False  # a later notification causes another poll
        wait_s = self._claim_backoff_s
        async with self._session.use() as connection:
            first, self._first = self._first, ""
            for queue in sorted(
                self._queues if is_wide else self._with_backlog, key=lambda each: (each != first, each)
            ):
                wanted = min(self._room(queue), _BATCH)
                self._with_backlog.add(queue)
                if wanted <= 0 or self._closing.is_set():
                    continue
                response = await self._sound(connection, [queue], partial(self._claim, connection, queue, wanted))
                if not response.is_registered:
                    await self._lease.register(connection)
                wait_s = min(wait_s, self._take(queue, wanted, response))
            if is_wide:
                # After the claims, so that new jobs do not wait for it.
                ranks, due_s = await self._sound(connection, self._queues, partial(self._due.promote, connection))
                for rank in ranks:
                    self.promoted(rank)
                wait_s = min(wait_s, max(0.0, due_s)) if due_s is not None else wait_s
        next_poll_s = time.monotonic() + wait_s
        self._next_poll_s = next_poll_s if is_wide else min(self._next_poll_s, next_poll_s)

    async def _sound(self, connection: Tx, queues: Sequence[str], statement: Callable[[], Awaitable[Found]]) -> Found:
        """Run a statement; if damaged jobs of these queues make it fail, set them aside and run it again."""
        try:
            return await statement()
        except Exception as error:
            if is_passing(error) or not await set_damaged_aside(connection, queues=queues, tasks=self._tasks):
                raise
        return await statement()

    async def _claim(self, connection: Tx, queue: str, wanted: int) -> ClaimResult:
        cursor = self._cursors[queue]
        worker_id = self._lease.worker_id
        slots = self._slots(queue)
        if queue in self._limited:
            async with self._limits.use() as own:
                response = await claim_within_limits(
                    own,
                    worker_id=worker_id,
                    queue=queue,
                    wanted=wanted,
                    fresh_s=self._fresh_s,
                    cursor=cursor,
                    slots=slots,
                )
            if response is not None:
                return response
            self._limited.discard(queue)
        response = await claim_jobs(
            connection,
            worker_id=worker_id,
            queue=queue,
            wanted=wanted,
            fresh_s=self._fresh_s,
            cursor=cursor,
            slots=slots,
        )
        if not response.is_shut:
            return response
        self._limited.add(queue)
        return await self._claim(connection, queue, wanted)

    def _take(self, queue: str, wanted: int, response: ClaimResult) -> float:
        """Start the claimed jobs; return the seconds until the next poll."""
        # Jobs that run alone start before the other jobs of the claim.
        if any(claim.runs_alone for claim in response.claims):
            response.claims.sort(key=lambda claim: not claim.runs_alone)
        for claim in response.claims:
            self._start(claim)
        self._report_held(queue, response.blocked_keys)
        if len(response.claims) < wanted:
            if not response.is_held_back:  # otherwise the end of a run may free enough slots
                self._with_backlog.discard(queue)
        elif self._room(queue) > 0:
            return 0.0
        if not response.is_registered:
            return 0.0
        wait_s = _CONTENDED_WAIT_S if response.contended else self._claim_backoff_s
        return wait_s if response.retry_in_s is None else min(wait_s, response.retry_in_s)

    def _report_held(self, queue: str, keys: Iterable[str]) -> None:
        now = time.monotonic()
        for key in keys:
            if now - self._reported.get(key, -_SAMPLE_S) >= _SAMPLE_S:
                if len(self._reported) >= _SAMPLED_KEYS:
                    self._reported.clear()
                self._reported[key] = now
                _log.info("worker.claim.backoff", queue=queue, lock_key=key)
