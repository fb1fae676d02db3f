"""Worker: claims, runs and completes jobs of its queues."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

from classifeed_common.db import Database
from classifeed_common.loops import race, retry
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_jobs.claim.claim import RETURNED, Claim, ClaimKey, Completion
from classifeed_jobs.claim.shares import FreeSlots, HeldSlots
from classifeed_jobs.enqueue.notifier import Notifier
from classifeed_jobs.enqueue.store import JobStore
from classifeed_jobs.metrics import RUN_DURATION, WAIT_DURATION, running
from classifeed_jobs.model.failure_hooks import hook_tasks
from classifeed_jobs.model.job import Rank
from classifeed_jobs.model.task import Task
from classifeed_jobs.telemetry.traces import is_recorded, job_span
from classifeed_jobs.worker.completions import Completions
from classifeed_jobs.worker.fetcher import Fetcher
from classifeed_jobs.worker.heartbeat import Heartbeat
from classifeed_jobs.worker.isolation import Isolation
from classifeed_jobs.worker.listener import CANCEL_PREFIX, Listener
from classifeed_jobs.worker.pooler import PoolerError, refuse_transaction_pooler
from classifeed_jobs.worker.process_lease import ProcessLease
from classifeed_jobs.worker.run import Run
from classifeed_jobs.worker.session import Session
from classifeed_jobs.worker.slots import ExecutionSlots

_log = structlog.get_logger("classifeed_jobs.worker.worker")
_STOP_WAIT_S = 5.0
_CHECK_WAIT_S = 0.5
PREFETCH_MAX = 2.0
_LIMITS_STILL_S = 5.0  # maximum time that a suspended process can lock a queue with limits


class Worker:
    """Runs jobs of some queues in this process, in asyncio tasks and, for sync functions, in threads.

    A waiting run uses no connection: the pool is only used inside the handler's transactions. In addition to the pool,
    the worker has three connections (claims and heartbeats; completions; LISTEN), and a fourth one while one of its
    queues has limits.

    Args:
        database: The service's database, opened, with the job tables in its schema.
        store: JobStore for `backlog`. If a task has a failure hook, it must have the same tasks, as it cancels jobs.
        registry: Tasks by name.
        queues: Maximum number of running jobs by queue. A partition key gets another slot only while it holds fewer
            slots than are free.
        resources: Resources of the service, available to each run as `ctx.resources`.
        heartbeat_s: Seconds between two renewals of the lease (DL_HEARTBEAT_SEC); fewer while short leases are held.
        claim_backoff_s: Maximum seconds between two polls of an idle queue (DL_CLAIM_BACKOFF_SEC).
        drain_grace_s: Seconds that runs get to complete after stop; then they are signalled to stop and requeued.
        prefetch: Maximum number of jobs that are claimed before a slot is free, while runs are short, as a multiple of
            the queue's concurrency, at most 2 (DL_PREFETCH). With it, partition keys have no shares of the slots.
        logs_runs: Whether to log the end of each run.
        worker_id: Id for the journal; it must be new for each process.
    """

    def __init__(
        self,
        database: Database,
        store: JobStore,
        registry: Mapping[str, Task],
        *,
        queues: Mapping[str, int],
        resources: Any = None,
        heartbeat_s: float = 10.0,
        claim_backoff_s: float = 15.0,
        drain_grace_s: float = 30.0,
        prefetch: float = 0.0,
        logs_runs: bool = False,
        worker_id: str | None = None,
    ) -> None:
        if not queues or any(concurrency < 1 for concurrency in queues.values()):
            raise ValueError(f"a worker needs queues with a concurrency of 1 or more, not {dict(queues)!r}")
        if not 0 <= prefetch <= PREFETCH_MAX:
            raise ValueError(f"prefetch must lie between 0 and {PREFETCH_MAX}, not {prefetch}")
        if missing := set(hook_tasks(registry)) - set(hook_tasks(store.tasks)):
            raise ValueError(f"the job store must be given the tasks too, for the hooks of {sorted(missing)}")
        self.worker_id = worker_id or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._db = database
        self._store = store
        self._registry = registry
        self._queues = dict(queues)
        self._resources = resources
        self._drain_grace_s = drain_grace_s
        self._logs_runs = logs_runs
        self._runs: dict[ClaimKey, Run] = {}
        self._are_over = asyncio.Event()
        self._are_over.set()
        self._slots_of = {
            queue: ExecutionSlots(concurrency, prefetch, handle=self._handle, return_run=self._return_run)
            for queue, concurrency in self._queues.items()
        }
        self._isolation = Isolation()
        self._held = {queue: HeldSlots() for queue in self._queues}
        # Prefetched jobs are short by declaration, so rotation of partition keys is enough.
        self._claims_ahead = prefetch > 0
        self._is_draining = False
        self._is_traced = False
        self._session = Session(database)
        self._limits = Session(database, idle_in_transaction_s=_LIMITS_STILL_S)
        self._lease = ProcessLease(self.worker_id, sorted(self._queues), hook_tasks(registry))
        self._notifier = Notifier(database)
        self._completions = Completions(
            database, self._notifier, registry, caught_up=self._caught_up, promoted=self._promoted
        )
        self._heartbeat = Heartbeat(self._session, self._lease, self._runs, self._completions, heartbeat_s=heartbeat_s)
        self._fetcher = Fetcher(
            self._session,
            self._limits,
            self._lease,
            sorted(self._queues),
            room=self._room,
            start=self._start,
            slots=self._slots,
            tasks=registry,
            claim_backoff_s=claim_backoff_s,
            fresh_s=2 * heartbeat_s,
        )
        self._listener = Listener(database, self._on_payload, self._on_gap)
        self._threads = ThreadPoolExecutor(max_workers=sum(self._queues.values()), thread_name_prefix="job")

    async def run(self, stop: asyncio.Event) -> None:
        """Run jobs until `stop` is set, then drain. Call it once per instance.

        During the drain, runs get `drain_grace_s` to complete. The others are stopped at their next safe point and
        requeued without using up the attempt. Errors of the database are retried. If this coroutine is cancelled, no
        job is lost, but its jobs are requeued only when their leases expire.

        Raises:
            PoolerError: The database is behind a pooler in transaction mode.
        """
        self._is_traced = is_recorded()
        [checked] = await race(stop, retry(self._check_session, Backoff(_CHECK_WAIT_S), self._note_check))
        if not checked.cancelled() and (refused := checked.exception()) is not None:
            await self._session.close()
            raise refused
        claiming = asyncio.create_task(self._fetcher.run(), name="jobs-claimer")
        others = [
            asyncio.create_task(self._heartbeat.run(), name="jobs-heartbeat"),
            asyncio.create_task(self._completions.run(), name="jobs-completions"),
            asyncio.create_task(self._listener.run(), name="jobs-wakeups"),
        ]
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([claiming, stopping, *others], return_when=asyncio.FIRST_COMPLETED)
            await self._drain(claiming)
        finally:
            background = [claiming, stopping, *others]
            for task in background:
                task.cancel()
            outcomes = await asyncio.gather(*background, return_exceptions=True)
            await asyncio.gather(*(execution_slots.close() for execution_slots in self._slots_of.values()))
            self._threads.shutdown(wait=False, cancel_futures=True)
            await self._session.close()
            await self._limits.close()
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    async def _check_session(self) -> None:
        async with self._session.use() as connection:
            await refuse_transaction_pooler(self._db, connection)

    def _note_check(self, error: Exception, wait_s: float) -> None:
        if isinstance(error, PoolerError):
            raise error
        log_fault(_log, "worker.claim.failed", error, retry_in_s=wait_s, noted_in=self._fetcher.loop.fault)

    def blocked(self) -> dict[str, str]:
        """Return why claims, completions or lease renewals fail, if they have failed for some time."""
        ends = "Jobs whose completion is not recorded run again if this process ends"
        return {
            **self._fetcher.blocked(),
            **self._completions.fault.blocked("ends of jobs", "recording completions", ends),
            **self._heartbeat.blocked(),
        }

    async def backlog(self) -> dict[str, int]:
        """Return the number of incomplete jobs of this worker's queues, by queue."""
        async with self._db.transaction() as tx:
            return await self._store.backlog(tx, sorted(self._queues))

    def _start(self, claim: Claim) -> None:
        if self._is_draining:
            self._completions.put(claim.completion(RETURNED))
            return
        if claim.key in self._runs:
            # The server lost a commit (synchronous_commit off) and repeated the claim, which is running already.
            _log.error("worker.claim.repeated", job_id=str(claim.job_id), claim_no=claim.claim_no)
            return
        if not self._isolation.may_start(claim, is_idle=not self._runs):
            self._completions.put(claim.completion(RETURNED))
            return
        run = Run(claim, self._registry, self._db, self._resources, self._threads)
        self._runs[run.key] = run
        self._held[claim.queue].take(claim.partition_key)
        self._are_over.clear()
        WAIT_DURATION.observe(claim.waited_s, claim.queue)
        self._slots_of[claim.queue].put(run)
        self._heartbeat.started(claim.lease_ttl_s)

    def _room(self, queue: str) -> int:
        return 0 if self._completions.is_behind else self._isolation.room(self._slots_of[queue].room)

    def _slots(self, queue: str) -> FreeSlots | None:
        return None if self._claims_ahead else FreeSlots(self._room(queue), self._held[queue].by_key)

    def _promoted(self, rank: Rank) -> None:
        self._fetcher.promoted(rank)

    def _caught_up(self) -> None:
        for queue in self._queues:
            self._fetcher.released(queue)

    async def _handle(self, run: Run) -> None:
        self._end(run, await self._run(run))

    def _return_run(self, run: Run) -> None:
        self._end(run, run.claim.completion(RETURNED))

    def _end(self, run: Run, completion: Completion | None) -> None:
        if self._runs.pop(run.key, None) is None:
            return  # requeued without waiting for its end
        if not self._runs:
            self._are_over.set()
            if (queue := self._isolation.over()) is not None:
                self._fetcher.poll_first(queue)
        self._held[run.claim.queue].release(run.claim.partition_key)
        self._slots_of[run.claim.queue].ended()
        # In this order: both wake a task, and the next claim is more urgent than the completion.
        self._fetcher.released(run.claim.queue)
        if completion is not None:
            self._completions.put(completion)

    async def _run(self, run: Run) -> Completion | None:
        claim = run.claim
        running(claim.queue).inc()
        structlog.contextvars.bind_contextvars(
            job_id=str(claim.job_id), queue=claim.queue, task=claim.task, attempt=claim.attempt
        )
        began = time.perf_counter()
        if claim.trace_context or self._is_traced:
            completion = await _traced(run)
        else:
            completion = await run.handle()  # no span is recorded or propagated
        outcome = completion.outcome if completion is not None else "lost"
        running(claim.queue).dec()
        # Names of unknown tasks are arbitrary, so they share one label value.
        task = claim.task if run.task is not None else "unknown"
        duration_s = time.perf_counter() - began
        RUN_DURATION.observe(duration_s, claim.queue, task, outcome)
        if self._logs_runs:
            message = completion.message if completion is not None else None
            _log.info("job.run.ended", outcome=outcome, duration_ms=round(duration_s * 1000, 1), message=message)
        return completion

    async def _drain(self, claiming: asyncio.Task[None]) -> None:
        self._is_draining = True
        self._fetcher.close()
        await asyncio.wait([claiming], timeout=_STOP_WAIT_S)
        for execution_slots in self._slots_of.values():
            for run in execution_slots.clear():
                self._return_run(run)
        for run in list(self._runs.values()):
            if run.task is not None and run.task.resumes:
                run.stop("drain")
        await self._wait_for_runs(self._drain_grace_s)
        for now in (False, True):
            for run in list(self._runs.values()):
                run.stop("drain", now=now)
            await self._wait_for_runs(_STOP_WAIT_S)
        self._hand_back(list(self._runs.values()))
        try:
            async with asyncio.timeout(_STOP_WAIT_S):
                await self._completions.drained()
                await self._notifier.settled()
                async with self._session.use() as connection:
                    await self._lease.leave(connection)
        except Exception as error:  # noqa: BLE001 - the leases expire anyway
            log_fault(_log, "worker.drain.incomplete", error, worker_id=self.worker_id)

    async def _wait_for_runs(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._are_over.wait()

    def _hand_back(self, runs: list[Run]) -> None:
        """Requeue the jobs of threads that do not stop; `guard` rejects their later writes."""
        for run in runs:
            _log.warning("worker.drain.abandoned", job_id=str(run.claim.job_id), task=run.claim.task)
            del self._runs[run.key]
            self._completions.put(run.claim.completion(RETURNED))

    def _on_payload(self, payload: str) -> None:
        if payload in self._queues:
            self._fetcher.wake()
        elif payload == CANCEL_PREFIX + self.worker_id:
            self._heartbeat.beat_soon()

    def _on_gap(self) -> None:
        self._fetcher.wake()
        self._heartbeat.beat_soon()


async def _traced(run: Run) -> Completion | None:
    claim = run.claim
    attributes: dict[str, str | int] = {
        "job.id": str(claim.job_id),
        "job.queue": claim.queue,
        "job.attempt": claim.attempt,
    }
    with job_span(f"job {claim.task}", claim.trace_context, attributes) as span:
        completion = await run.handle()
        if span is not None:
            span.set_attribute("job.outcome", completion.outcome if completion is not None else "lost")
    return completion
