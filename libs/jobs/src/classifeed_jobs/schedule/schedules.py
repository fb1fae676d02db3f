"""Schedules of recurring jobs, stored in the service's tables (ADR 0021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_common.zones import find_zone
from classifeed_jobs.enqueue.checking import check_queue
from classifeed_jobs.model.storable import (
    MAX_KEY,
    MAX_LABEL,
    MAX_NAME,
    NotStorable,
    check_numbers,
    check_texts,
    clean_text,
    find_control,
    find_fault,
    json_text,
)
from classifeed_jobs.model.stored import find_damage, read_json
from classifeed_jobs.schedule.cron import Cron
from classifeed_jobs.server_time import server_time

_SQL = load_queries("classifeed_jobs.schedule", "schedules.sql")
_PUT = _SQL["put_schedule"]
_REMOVE = _SQL["remove_schedule"]
_PAUSE = _SQL["pause_schedule"]
_LOCK = _SQL["lock_schedule"]
_RESUME = _SQL["resume_schedule"]
_GET = _SQL["get_schedule"]
_LIST = _SQL["list_schedules"]

_UTC: Final = "UTC"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Missed = Literal["skip", "run_once", "run_all"]
Overlap = Literal["skip", "queue_one", "queue_all", "replace"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A recurring job. Set either `cron` or `every_s`; the other fields are those of `JobStore.enqueue`.

    Attributes:
        name: Name, unique in the service.
        cron: Expression of five fields (see `Cron`), in `time_zone`.
        every_s: Whole seconds between two slots, counted from 1970, so that all processes agree.
        time_zone: IANA name of the time zone of `cron`; empty for the default of `Schedules`.
        missed: Treatment of slots that passed while no scheduler ran. skip: no job; run_once: one job for the newest
            slot; run_all: a job for each slot.
        grace_s: Seconds that the newest slot may be late without counting as missed.
        overlap: Treatment of a slot while the last job is not complete. skip: no job; queue_one: one job waits for the
            running one, further slots get none; replace: the last job is canceled and replaced by a new one; queue_all:
            a job for each slot. With missed=run_all, each slot gets its job.
    """

    name: str
    queue: str
    task: str
    args: Mapping[str, Any] = field(default_factory=dict)
    lock_key: str | None = None
    partition_key: str | None = None
    priority: int = 100
    max_attempts: int | None = 5
    lease_ttl_s: int | None = None
    cron: str | None = None
    every_s: int | None = None
    time_zone: str = ""
    missed: Missed = "run_once"
    grace_s: int = 60
    overlap: Overlap = "queue_one"

    def __post_init__(self) -> None:
        if (self.cron is None) == (self.every_s is None):
            raise ValueError(f"schedule {self.name!r} needs either cron or every_s")
        if self.every_s is not None and self.every_s < 1:
            raise ValueError(f"schedule {self.name!r}: every_s must be 1 or more, not {self.every_s}")
        if self.missed not in {"skip", "run_once", "run_all"}:
            raise ValueError(f"schedule {self.name!r}: missed is skip, run_once or run_all, not {self.missed!r}")
        if self.overlap not in {"skip", "queue_one", "queue_all", "replace"}:
            raise ValueError(
                f"schedule {self.name!r}: overlap is skip, queue_one, queue_all or replace, not {self.overlap!r}"
            )
        if self.time_zone:
            try:
                find_zone(self.time_zone)
            except ValueError as error:
                raise ValueError(f"schedule {self.name!r}: {error}") from error
        if self.cron is not None:
            Cron.parse(self.cron)

    @property
    def makes_every_job(self) -> bool:
        """Whether each slot gets a job, independent of earlier jobs."""
        return self.overlap == "queue_all" or self.missed == "run_all"

    def next_after(self, moment: datetime) -> datetime:
        """Return the first slot after a moment, in UTC. Without a time zone, `cron` is evaluated in UTC.

        Raises:
            ValueError: This process cannot read the timing, which another process has stored.
        """
        if self.cron is not None:
            return Cron.parse(self.cron).next_after(moment, find_zone(self.time_zone or _UTC))
        every = timedelta(seconds=self.every_s or 1)
        return _EPOCH + ((moment - _EPOCH) // every + 1) * every


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """A schedule and its state; `last_slot` and `last_job_id` identify the last enqueued job.

    Attributes:
        damage: Reason why its args cannot be read; None if they can.
    """

    schedule: Schedule
    paused_at: datetime | None
    paused_by: str | None
    next_slot: datetime
    last_slot: datetime | None
    last_job_id: UUID | None
    damage: str | None = None


class Schedules:
    """The schedules of one schema, in the caller's transaction. A `Scheduler` enqueues their jobs.

    Args:
        time_zone: IANA name of the default time zone. It is stored with each schedule.

    Raises:
        ValueError: There is no such time zone.
    """

    def __init__(self, time_zone: str = _UTC) -> None:
        find_zone(time_zone)
        self._time_zone = time_zone

    async def put(self, tx: Tx, schedule: Schedule) -> None:
        """Create or replace a schedule. Idempotent.

        If its timing is unchanged, no slot is skipped or repeated; a new timing starts with its next slot. A pause is
        kept.

        Raises:
            NotStorable: A value exceeds the limits of the engine.
        """
        args = _check(schedule)
        now = await server_time(tx)
        schedule = replace(schedule, time_zone=schedule.time_zone or self._time_zone)
        await tx.execute(
            _PUT,
            {
                "name": schedule.name,
                "queue": schedule.queue,
                "task": schedule.task,
                "args": args,
                "lock_key": schedule.lock_key,
                "partition_key": schedule.partition_key,
                "priority": schedule.priority,
                "max_attempts": schedule.max_attempts,
                "lease_ttl_sec": schedule.lease_ttl_s,
                "cron": schedule.cron,
                "every_sec": schedule.every_s,
                "time_zone": schedule.time_zone,
                "missed": schedule.missed,
                "grace_sec": schedule.grace_s,
                "overlap": schedule.overlap,
                "next_slot": schedule.next_after(now),
            },
        )

    async def remove(self, tx: Tx, name: str) -> ScheduleState | None:
        """Remove a schedule, but not its jobs. Return its last state; None if there is no such schedule."""
        rows = await fetch_named(tx, _REMOVE, {"name": name})
        return read_state(rows[0]) if rows else None

    async def pause(self, tx: Tx, name: str, *, by: str | None = None) -> bool:
        """Pause a schedule: it creates no jobs until it is resumed. Return False if it is missing or already paused."""
        return (
            await tx.execute(_PAUSE, {"name": name, "by": clean_text(by) if by is not None else None})
        ).rowcount == 1

    async def resume(self, tx: Tx, name: str) -> bool:
        """Resume a schedule at its next slot from now. Slots of the pause do not count as missed.

        Returns:
            False if the schedule is missing or not paused.
        """
        rows = await fetch_named(tx, _LOCK, {"name": name})
        if not rows or rows[0].paused_at is None:
            return False
        next_slot = read_state(rows[0]).schedule.next_after(rows[0].now)
        await tx.execute(_RESUME, {"name": name, "next_slot": next_slot})
        return True

    async def get(self, tx: Tx, name: str) -> ScheduleState | None:
        """Return a schedule and its state; None if there is no such schedule."""
        rows = await fetch_named(tx, _GET, {"name": name})
        return read_state(rows[0]) if rows else None

    async def list(self, tx: Tx, *, after: str = "", limit: int = 100) -> list[ScheduleState]:
        """Return a page of schedules, by name."""
        return [read_state(row) for row in await fetch_named(tx, _LIST, {"after": after, "limit": limit})]


def _check(schedule: Schedule) -> str:
    """Check a schedule, and return its args as JSON text.

    Raises:
        NotStorable: A value exceeds the limits of the engine.
    """
    try:
        check_queue(schedule.queue)
        check_texts(
            (
                ("name", schedule.name, MAX_NAME),
                ("task", schedule.task, MAX_NAME),
                ("lock_key", schedule.lock_key, MAX_KEY),
                ("partition_key", schedule.partition_key, MAX_LABEL),
                ("cron", schedule.cron, MAX_NAME),
            )
        )
        if fault := find_control(schedule.name):
            raise NotStorable(f"name {fault}: choose another one")
        check_numbers(priority=schedule.priority, max_attempts=schedule.max_attempts, lease_ttl_s=schedule.lease_ttl_s)
        return json_text("args", dict(schedule.args))
    except NotStorable as error:
        raise NotStorable(f"schedule {schedule.name[:MAX_NAME]!a} was not stored: {error}") from error


def read_state(row: Any) -> ScheduleState:
    """Return a schedule from a row whose columns are named as its fields.

    The values are not validated, so that a schedule that this process cannot read, such as one with an unknown time
    zone, can still be shown and removed.
    """
    schedule = object.__new__(Schedule)
    for each in fields(Schedule):
        object.__setattr__(schedule, each.name, getattr(row, each.name))
    args = read_json(row.args)
    damage = find_damage(args=args) or ((fault := find_fault(args)) and f"its args: {fault}")
    object.__setattr__(schedule, "args", args if damage is None else {})
    return ScheduleState(schedule, row.paused_at, row.paused_by, row.next_slot, row.last_slot, row.last_job_id, damage)
