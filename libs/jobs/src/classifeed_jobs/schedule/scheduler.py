"""Scheduler: enqueues one job for each slot of a schedule, with any number of replicas (ADR 0021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from classifeed_common.db import Database, Tx, fetch_named, load_queries
from classifeed_common.errors import name_fault
from classifeed_common.faults.passing import is_passing
from classifeed_common.loops import Loop, Looping
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_jobs.enqueue.store import JobStore
from classifeed_jobs.model.job import JobRequest
from classifeed_jobs.model.retry import FAULT_PAUSE_S
from classifeed_jobs.schedule.schedules import Schedule, Schedules, ScheduleState, read_state

_log = structlog.get_logger("classifeed_jobs.schedule.scheduler")
_SQL = load_queries("classifeed_jobs.schedule", "schedules.sql")
_LOCK_DUE = _SQL["lock_due"]
_MOVE = _SQL["move_schedule"]
_STATUS_OF_LAST = _SQL["status_of_last"]
_NEXT_SLOT = _SQL["next_slot"]
_COUNT_DUE = _SQL["count_due"]

_BATCH: Final = 50
_SLOTS_AT_ONCE: Final = 500
_BY: Final = "schedule"
_SHORTEST_WAIT_S: Final = 0.02
_FIRST_WINDOW: Final = timedelta(minutes=1)


class Scheduler(Looping):
    """Enqueues the jobs of due schedules.

    Any number of replicas may run: the row of a schedule is moved to its next slot in the transaction that enqueues its
    job, and the job's idempotency key contains the slot.

    Args:
        database: The service's database.
        store: JobStore that enqueues the jobs.
        period_s: Maximum seconds between two polls. A poll is earlier if a slot is due; a schedule that another process
            stores is found within this time.
        own: Schedules of the service, stored when the scheduler starts.
        schedules: Schedules that store them.
    """

    def __init__(
        self,
        database: Database,
        store: JobStore,
        *,
        period_s: float = 10.0,
        own: Sequence[Schedule] = (),
        schedules: Schedules | None = None,
    ) -> None:
        self._db = database
        self._store = store
        self._period_s = period_s
        self._to_put = list(own)
        self._schedules = schedules or Schedules()
        self._failed: dict[str, str] = {}  # reasons by name, in the current poll
        self._blocked: Mapping[str, str] = {}
        self.loop = Loop(
            self._poll,
            period_s=period_s,
            name="schedules",
            doing="enqueueing scheduled jobs",
            effect="Due schedules wait",
            backoff=Backoff(min(FAULT_PAUSE_S, period_s)),
            event="scheduler.failed",
        )

    async def _poll(self) -> float:
        self._failed.clear()
        await self._put_own()
        while await self.make_due():
            continue
        self._blocked = dict(self._failed)
        return await self._wait_s()

    async def _put_own(self) -> None:
        while self._to_put:
            async with self._db.transaction() as tx:
                await self._schedules.put(tx, self._to_put[-1])
            self._to_put.pop()

    async def make_due(self) -> int:
        """Enqueue the jobs of at most 50 due schedules; return the number of processed schedules.

        A schedule is skipped if this process cannot read its timing, such as a zone that its tz database lacks, or if
        its job cannot be enqueued. Other processes and the next poll retry it.
        """
        async with self._db.transaction() as tx:
            parameters = {"limit": _BATCH, "failed": list(self._failed)}
            rows = await fetch_named(tx, _LOCK_DUE, parameters)
            for row in rows:
                await self._try(tx, read_state(row), row.now)
        return len(rows)

    def blocked(self) -> Mapping[str, str]:
        """Return the due schedules without a job in the last poll, with the reasons, and why polls fail."""
        return {**self._blocked, **self.loop.blocked()}

    async def backlog(self) -> dict[str, int]:
        """Return the number of due schedules that are not processed yet."""
        async with self._db.transaction() as tx:
            row = await (await tx.execute(_COUNT_DUE)).fetchone()
        return {"due_schedules": row[0] if row is not None else 0}

    async def _try(self, tx: Tx, state: ScheduleState, now: datetime) -> None:
        name = state.schedule.name
        try:
            slots, next_slot = _due_slots(state, now)
        except (ValueError, OverflowError) as error:
            _log.error("scheduler.unreadable", schedule=name, error=str(error))
            self._failed[name] = f"its timing cannot be read here: {error}. Put it again, or remove it."
            return
        if state.damage is not None:
            _log.error("scheduler.unreadable", schedule=name, error=state.damage)
            self._failed[name] = f"its job cannot be enqueued: {state.damage}. Put it again, or remove it."
            return
        try:
            async with tx.transaction():
                await self._make(tx, state, slots, next_slot)
        except Exception as error:
            if is_passing(error):
                raise
            log_fault(_log, "scheduler.failed", error, is_repeated=name in self._blocked, schedule=name)
            self._failed[name] = f"its job cannot be enqueued: {name_fault(error)}. Put it again, or remove it."

    async def _make(self, tx: Tx, state: ScheduleState, slots: Sequence[datetime], next_slot: datetime) -> None:
        schedule = state.schedule
        job_id = None
        lock_key = schedule.lock_key
        if slots and not schedule.makes_every_job:
            # Without a lock key, the queued job would start while the previous one runs.
            lock_key = lock_key or f"schedule:{schedule.name}"
            if await self._is_left_out(tx, state):
                slots = []
        for slot in slots:
            request = JobRequest(
                queue=schedule.queue,
                task=schedule.task,
                args=schedule.args,
                lock_key=lock_key,
                idempotency_key=f"schedule:{schedule.name}:{slot.isoformat()}",
                partition_key=schedule.partition_key,
                priority=schedule.priority,
                max_attempts=schedule.max_attempts,
                lease_ttl_s=schedule.lease_ttl_s,
                producer=_BY,
            )
            note = {"schedule": schedule.name, "slot": slot.isoformat()}
            (made,) = await self._store.enqueue_many(tx, [request], note=note)
            job_id = made.job_id
        if not slots:
            _log.info("scheduler.skipped", schedule=schedule.name, slot=state.next_slot.isoformat())
        last_slot = slots[-1] if slots else None
        await tx.execute(
            _MOVE, {"name": schedule.name, "next_slot": next_slot, "last_slot": last_slot, "last_job_id": job_id}
        )

    async def _is_left_out(self, tx: Tx, state: ScheduleState) -> bool:
        """Return whether a slot gets no job because of the previous job. A job to be replaced is canceled."""
        overlap, last = state.schedule.overlap, state.last_job_id
        row = await (await tx.execute(_STATUS_OF_LAST, {"job_id": last})).fetchone()
        status = row[0] if row is not None else None
        if status is None or last is None:
            return False
        if overlap == "replace":
            await self._store.cancel(tx, last, reason="the next slot of its schedule has come", by=_BY)
            return False
        return overlap == "skip" or status == "queued"

    async def _wait_s(self) -> float:
        async with self._db.connection() as connection:
            row = await (await connection.execute(_NEXT_SLOT, {"failed": list(self._failed)})).fetchone()
        if row is None or row[0] is None:
            return self._period_s
        return min(self._period_s, max(_SHORTEST_WAIT_S, float(row[0])))


def _due_slots(state: ScheduleState, now: datetime) -> tuple[list[datetime], datetime]:
    """Return the slots that get jobs, oldest first, and the next slot."""
    schedule = state.schedule
    if schedule.missed == "run_all":
        slots = [state.next_slot]
        while (slot := schedule.next_after(slots[-1])) <= now and len(slots) < _SLOTS_AT_ONCE:
            slots.append(slot)
        return slots, slot
    newest = _newest_slot(state, now)
    is_missed = now - newest > timedelta(seconds=schedule.grace_s)
    return [] if is_missed and schedule.missed == "skip" else [newest], schedule.next_after(newest)


def _newest_slot(state: ScheduleState, now: datetime) -> datetime:
    """Return the latest due slot, without iterating over all slots since the last poll."""
    window = _FIRST_WINDOW
    while (begin := now - window) > state.next_slot:
        slot = state.schedule.next_after(begin)
        if slot <= now:
            break
        window *= 24
    else:
        slot = state.next_slot
    while (later := state.schedule.next_after(slot)) <= now:
        slot = later
    return slot
