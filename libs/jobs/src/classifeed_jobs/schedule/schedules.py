"""Schedules: what is to be enqueued when, kept in the service's own tables (ADR 0021)."""

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
    """A job that is enqueued again and again; set `cron` or `every_s`.

    Attributes:
        name: unique in the service.
        cron: five fields (see `Cron`), in `time_zone`.
        every_s: whole seconds between two slots, counted from 1970: the same for all processes.
        time_zone: IANA name of the clock that `cron` is read on; empty: that of the `Schedules` it is put into.
        missed: what becomes of slots that nobody was there for. skip: nothing; run_once: one job, that of the newest
            slot; run_all: a job for each.
        grace_s: how late the newest slot may be and still not count as missed.
        overlap: what a slot does while the last job of the schedule is not complete. skip: nothing; queue_one: a job
            waits for the running one, and further slots do nothing; replace: the last job is canceled, and a new one
            takes its place; queue_all: a job for each slot. With missed=run_all each slot gets its job in any case.
        queue: as in `JobStore.enqueue`, like the rest.
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
        """Whether each slot gets its job, whatever became of the jobs before."""
        return self.overlap == "queue_all" or self.missed == "run_all"

    def next_after(self, moment: datetime) -> datetime:
        """Return the first slot after a moment, in UTC; without a time zone of its own `cron` is read on UTC.

        Raises:
            ValueError: this process cannot read the timing, which another one has put.
        """
        if self.cron is not None:
            return Cron.parse(self.cron).next_after(moment, find_zone(self.time_zone or _UTC))
        every = timedelta(seconds=self.every_s or 1)
        return _EPOCH + ((moment - _EPOCH) // every + 1) * every


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """A schedule as it stands; `last_slot` and `last_job_id` identify the last job made for it.

    Attributes:
        damage: why its args cannot be read; None: they can.
    """

    schedule: Schedule
    paused_at: datetime | None
    paused_by: str | None
    next_slot: datetime
    last_slot: datetime | None
    last_job_id: UUID | None
    damage: str | None = None


class Schedules:
    """The schedules of one schema, in the caller's own transaction. A `Scheduler` makes their jobs.

    Args:
        time_zone: IANA name of the clock for schedules that name none. A schedule that was put keeps its own.

    Raises:
        ValueError: there is no such zone.
    """

    def __init__(self, time_zone: str = _UTC) -> None:
        find_zone(time_zone)
        self._time_zone = time_zone

    async def put(self, tx: Tx, schedule: Schedule) -> None:
        """Make or replace a schedule. Idempotent: as long as its timing stays, no slot is skipped or run again; a pause
        stays too. A new timing begins with its next slot.

        Raises:
            NotStorable: a value is outside the limits of the engine.
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
        """Remove a schedule; its jobs stay. Returns it as it was; None: there was none."""
        rows = await fetch_named(tx, _REMOVE, {"name": name})
        return read_state(rows[0]) if rows else None

    async def pause(self, tx: Tx, name: str, *, by: str | None = None) -> bool:
        """Make no jobs of a schedule until it is resumed; False: there is none, or it is paused already."""
        return (
            await tx.execute(_PAUSE, {"name": name, "by": clean_text(by) if by is not None else None})
        ).rowcount == 1

    async def resume(self, tx: Tx, name: str) -> bool:
        """Go on with the next slot from now; those of the pause were not missed. False: there is none, or no pause."""
        rows = await fetch_named(tx, _LOCK, {"name": name})
        if not rows or rows[0].paused_at is None:
            return False
        next_slot = read_state(rows[0]).schedule.next_after(rows[0].now)
        await tx.execute(_RESUME, {"name": name, "next_slot": next_slot})
        return True

    async def get(self, tx: Tx, name: str) -> ScheduleState | None:
        """Return a schedule as it stands; None: there is none."""
        rows = await fetch_named(tx, _GET, {"name": name})
        return read_state(rows[0]) if rows else None

    async def list(self, tx: Tx, *, after: str = "", limit: int = 100) -> list[ScheduleState]:
        """Return a page of schedules, in order of their names."""
        return [read_state(row) for row in await fetch_named(tx, _LIST, {"after": after, "limit": limit})]


def _check(schedule: Schedule) -> str:
    """Check a schedule, and return its args as JSON text.

    Raises:
        NotStorable: a value is outside the limits of the engine.
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
    """Return a schedule from a row of the statements above, whose columns are named as its fields.

    Not checked again: what this process cannot read, such as a zone that its tz database lacks, can still be shown and
    removed.
    """
    schedule = object.__new__(Schedule)
    for each in fields(Schedule):
        object.__setattr__(schedule, each.name, getattr(row, each.name))
    args = read_json(row.args)
    damage = find_damage(args=args) or ((fault := find_fault(args)) and f"its args: {fault}")
    object.__setattr__(schedule, "args", args if damage is None else {})
    return ScheduleState(schedule, row.paused_at, row.paused_by, row.next_slot, row.last_slot, row.last_job_id, damage)
