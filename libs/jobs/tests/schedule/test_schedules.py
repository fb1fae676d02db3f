"""Schedules create one job for each slot, with any number of replicas, kills and pauses."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from classifeed_common.errors import NotFound
from classifeed_devkit.testing.background import running
from classifeed_jobs import JobAdmin, Schedule, Scheduler, Schedules
from classifeed_jobs.schedule.schedules import ScheduleState
from classifeed_jobs.service import ServiceJobs

from ..conftest import Bench, until

SCHEDULES = Schedules()


@pytest.fixture
def hour_s() -> int:
    """Return a period of about an hour whose next slot is after the end of every test; slots are counted from 1970."""
    return next(period_s for period_s in range(3600, 7200) if period_s - time.time() % period_s > 1200)


async def _put(bench: Bench, **options: Any) -> None:
    async with bench.db.transaction() as tx:
        await SCHEDULES.put(tx, Schedule(**{"name": "s", "queue": "q", "task": "noop"} | options))


async def _state(bench: Bench) -> ScheduleState:
    async with bench.db.transaction() as tx:
        return (await SCHEDULES.list(tx))[0]


async def _stay_away(bench: Bench, slots: int) -> datetime:
    """Simulate missed slots of a schedule (hours, for a cron); return the first missed slot."""
    await bench.execute(
        "UPDATE dl_schedules SET next_slot = next_slot - %s * coalesce(every_sec, 3600) * interval '1 second'", slots
    )
    return (await _state(bench)).next_slot


async def _slots(bench: Bench) -> list[datetime]:
    rows = await bench.execute("SELECT payload ->> 'slot' FROM dl_job_events WHERE kind = 'queued' ORDER BY event_id")
    return [datetime.fromisoformat(row[0]) for row in rows]


async def test_many_replicas_make_one_job_for_each_slot(bench: Bench, hour_s: int) -> None:
    for n in range(5):
        await _put(bench, name=f"s{n}", every_s=hour_s, missed="run_all")
    await _stay_away(bench, 9)
    schedulers = [Scheduler(bench.db, bench.store) for _ in range(6)]
    await asyncio.gather(*(scheduler.make_due() for scheduler in schedulers for _ in range(3)))
    slots = await bench.execute(
        "SELECT payload ->> 'schedule', payload ->> 'slot', count(*) FROM dl_job_events GROUP BY 1, 2"
    )
    assert {row[2] for row in slots} == {1}
    assert len(slots) == 5 * 9


async def test_slot_is_made_once_even_when_the_schedule_is_put_back(bench: Bench, hour_s: int) -> None:
    """A schedule is restored or created again after its slot has run: the idempotency key prevents a second job."""
    await _put(bench, every_s=hour_s)
    first = await _stay_away(bench, 1)
    scheduler = Scheduler(bench.db, bench.store)
    assert await scheduler.make_due() == 1
    await bench.execute("UPDATE dl_schedules SET next_slot = %s", first)
    assert await scheduler.make_due() == 1
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 1


@pytest.mark.parametrize(
    ("missed", "late_h", "made"),
    [("run_all", 5, 5), ("run_once", 5, 1), ("skip", 5, 0), ("skip", 1, 0), ("run_once", 1, 1)],
)
async def test_missed_slots(bench: Bench, hour_s: int, missed: str, late_h: int, made: int) -> None:
    # The newest slot is older than the grace time: hourly slots are processed in the middle of the hour.
    await _put(bench, every_s=hour_s, missed=missed, grace_s=0)
    first = await _stay_away(bench, late_h)
    await Scheduler(bench.db, bench.store).make_due()
    newest = first + timedelta(seconds=hour_s * (late_h - 1))
    slots = await _slots(bench)
    assert len(slots) == made
    assert slots[-1:] == ([newest] if made else [])
    state = await _state(bench)
    assert state.next_slot == newest + timedelta(seconds=hour_s)
    assert (state.last_slot, state.last_job_id is not None) == (newest if made else None, bool(made))


async def test_slot_within_its_grace_is_on_time(bench: Bench, hour_s: int) -> None:
    await _put(bench, every_s=hour_s, missed="skip", grace_s=hour_s)
    await _stay_away(bench, 5)
    await Scheduler(bench.db, bench.store).make_due()
    assert len(await _slots(bench)) == 1


async def test_newest_of_a_few_slots_that_were_missed_is_run(bench: Bench) -> None:
    await _put(bench, every_s=10)
    await bench.execute("UPDATE dl_schedules SET next_slot = next_slot - interval '50 s'")
    first = (await _state(bench)).next_slot
    await Scheduler(bench.db, bench.store).make_due()
    (slot,) = await _slots(bench)
    assert slot - first >= timedelta(seconds=40), "none after it had come before the schedule was put"
    assert (await _state(bench)).next_slot == slot + timedelta(seconds=10)


async def test_scheduler_without_schedules_finds_the_first_one_put(bench: Bench, hour_s: int) -> None:
    class Counting(Scheduler):
        looks = 0

        async def make_due(self) -> int:
            self.looks += 1
            return await super().make_due()

    scheduler = Counting(bench.db, bench.store, period_s=0.05)

    async def has_polled_in_vain() -> bool:
        return scheduler.looks >= 2

    async with running(scheduler):
        await until(has_polled_in_vain)
        await _put(bench, every_s=hour_s)
        await _stay_away(bench, 1)

        async def is_made() -> bool:
            return bool(await bench.value("SELECT count(*) FROM dl_jobs"))

        await until(is_made)
    assert (await _state(bench)).last_slot is not None


async def test_resume_of_nothing_changes_nothing(bench: Bench, hour_s: int) -> None:
    await _put(bench, every_s=hour_s)
    first = await _stay_away(bench, 1)
    async with bench.db.transaction() as tx:
        assert not await SCHEDULES.resume(tx, "nothing")
        assert not await SCHEDULES.resume(tx, "s")
    assert (await _state(bench)).next_slot == first


async def test_years_of_missed_minutes_cost_no_scan(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await _put(bench, cron="* * * * *", time_zone="Europe/Moscow")
    await _stay_away(bench, 24 * 365 * 5)
    request = 0
    next_after = Schedule.next_after

    def counted(schedule: Schedule, moment: datetime) -> datetime:
        nonlocal request
        request += 1
        return next_after(schedule, moment)

    monkeypatch.setattr(Schedule, "next_after", counted)
    since = await bench.value("SELECT clock_timestamp()")
    await Scheduler(bench.db, bench.store).make_due()
    assert request < 100
    (slot,) = await _slots(bench)
    state = await _state(bench)
    assert state.next_slot == slot + timedelta(minutes=1)
    assert state.next_slot > since


async def test_put_again_keeps_the_slot_and_the_pause_new_timing_moves_it(bench: Bench, hour_s: int) -> None:
    await _put(bench, every_s=hour_s)
    first = await _stay_away(bench, 1)
    await _put(bench, every_s=hour_s, args={"a": 1})
    assert (await _state(bench)).next_slot == first
    async with bench.db.transaction() as tx:
        assert await SCHEDULES.pause(tx, "s", by="anna")
        assert not await SCHEDULES.pause(tx, "s", by="boris")
    await _put(bench, every_s=hour_s)
    assert (await _state(bench)).paused_by == "anna"
    since = await bench.value("SELECT clock_timestamp()")
    await _put(bench, every_s=60)
    in_bounds = "SELECT next_slot > %s AND next_slot <= clock_timestamp() + interval '1 minute' FROM dl_schedules"
    assert await bench.value(in_bounds, since)


async def test_what_cannot_be_read_stops_no_other_and_can_be_shown_and_removed(bench: Bench) -> None:
    for name in ("bad", "good"):
        await _put(bench, name=name, cron="30 3 29 2 *", time_zone="UTC")
    await bench.execute("UPDATE dl_schedules SET next_slot = next_slot - interval '5 years'")
    await bench.execute("UPDATE dl_schedules SET time_zone = 'Europe/Nowhere' WHERE name = 'bad'")
    scheduler = Scheduler(bench.db, bench.store)
    with capture_logs() as lines:
        assert [await scheduler.make_due() for _ in range(2)] == [2, 0]
    assert [(line["event"], line["schedule"]) for line in lines] == [("scheduler.unreadable", "bad")]
    assert await bench.execute("SELECT payload ->> 'schedule' FROM dl_job_events") == [("good",)]
    assert await scheduler._wait_s() == 10, "not at once again"
    assert await scheduler.backlog() == {"due_schedules": 1}
    admin = JobAdmin(bench.db, bench.store)
    bad, good = (await admin.list_schedules()).schedules
    assert (bad.schedule.time_zone, good.schedule.time_zone) == ("Europe/Nowhere", "UTC")
    assert bad.next_slot < good.next_slot

    async def is_made() -> bool:
        return bool(await bench.value("SELECT count(*) = 2 FROM dl_jobs"))

    async def is_met() -> bool:
        return any(line["event"] == "scheduler.unreadable" for line in met)

    with capture_logs() as met:
        async with running(Scheduler(bench.db, bench.store, period_s=0.05)):
            await until(is_met)
            await bench.execute("UPDATE dl_schedules SET time_zone = 'UTC' WHERE name = 'bad'")
            await until(is_made)
    await bench.execute("UPDATE dl_schedules SET time_zone = 'Europe/Nowhere' WHERE name = 'bad'")
    assert (await admin.remove_schedule("bad", by="anna")).schedule.time_zone == "Europe/Nowhere"


async def test_what_cannot_be_read_is_named_until_it_can(bench: Bench) -> None:
    await _put(bench, cron="* * * * *", time_zone="UTC")
    await _stay_away(bench, 1)
    await bench.execute("UPDATE dl_schedules SET time_zone = 'Europe/Nowhere'")
    why = "its timing cannot be read here: there is no time zone 'Europe/Nowhere'. Put it again, or remove it."
    scheduler = Scheduler(bench.db, bench.store, period_s=0.05)

    async def is_named() -> bool:
        return scheduler.blocked() == {"s": why}

    async def is_over() -> bool:
        return scheduler.blocked() == {}

    async with running(scheduler):
        await until(is_named)
        await bench.execute("UPDATE dl_schedules SET time_zone = 'UTC'")
        await until(is_over)
    assert await _slots(bench)


async def test_role_of_a_service_names_what_its_scheduler_cannot_read(bench: Bench) -> None:
    await _put(bench, cron="* * * * *", time_zone="UTC")
    await _stay_away(bench, 1)
    await bench.execute("UPDATE dl_schedules SET time_zone = 'Europe/Nowhere'")
    roles = {role.name: role for role in ServiceJobs(bench.db, {}).roles({"q": 1}, drain_grace_s=5.0)}
    blocked = roles["schedule"].blocked
    assert blocked is not None

    async def is_named() -> bool:
        return list(blocked()) == ["s"]

    async with running(roles["schedule"]):
        await until(is_named)


async def test_job_that_cannot_be_enqueued_stops_no_other_schedule(bench: Bench, hour_s: int) -> None:
    for name in ("a", "bad", "c"):
        await _put(bench, name=name, every_s=hour_s)
    await _stay_away(bench, 1)
    await bench.execute("UPDATE dl_schedules SET max_attempts = 0 WHERE name = 'bad'")
    scheduler = Scheduler(bench.db, bench.store)
    with capture_logs() as lines:
        async with asyncio.timeout(60):
            await scheduler._poll()
            await scheduler._poll()
    rows = await bench.execute("SELECT payload ->> 'schedule' FROM dl_job_events ORDER BY 1")
    assert rows == [("a",), ("c",)]
    assert list(scheduler.blocked()) == ["bad"]
    assert scheduler.blocked()["bad"].startswith("its job cannot be enqueued: NotStorable: ")
    failures = [line for line in lines if line["event"] == "scheduler.failed"]
    assert [(line["schedule"], line["exc_info"] is None) for line in failures] == [("bad", False), ("bad", True)]
    await bench.execute("UPDATE dl_schedules SET max_attempts = 1 WHERE name = 'bad'")
    await scheduler._poll()
    assert scheduler.blocked() == {}
    assert len(await _slots(bench)) == 3


async def test_paused_schedule_makes_nothing_and_has_missed_nothing(bench: Bench, hour_s: int) -> None:
    admin = JobAdmin(bench.db, bench.store)
    await admin.put_schedule(Schedule("s", "q", "noop", every_s=hour_s, missed="run_all"), by="anna")
    await admin.pause_schedule("s", by="anna")
    await _stay_away(bench, 5)
    scheduler = Scheduler(bench.db, bench.store)
    assert (await scheduler.backlog(), await scheduler.make_due()) == ({"due_schedules": 0}, 0)
    await admin.resume_schedule("s", by="anna")
    assert await scheduler.make_due() == 0
    (state,) = (await admin.list_schedules()).schedules
    assert state.paused_at is None
    assert await bench.value("SELECT next_slot > clock_timestamp() FROM dl_schedules")
    assert (await admin.remove_schedule("s", by="anna")).next_slot == state.next_slot
    for call in (admin.remove_schedule, admin.pause_schedule, admin.resume_schedule):
        with pytest.raises(NotFound) as raised:
            await call("s", by="anna")
        assert raised.value.reason == "SCHEDULE_NOT_FOUND"


async def test_running_schedulers_keep_the_beat(bench: Bench) -> None:
    await _put(bench, every_s=1, args={"a": 1}, lock_key="l", priority=3, max_attempts=None, overlap="queue_all")

    async def three() -> bool:
        return bool(await bench.value("SELECT count(*) >= 3 FROM dl_jobs"))

    # At each slot, not at the next poll an hour later.
    schedulers = [Scheduler(bench.db, bench.store, period_s=3600.0) for _ in range(2)]
    async with running(schedulers[0]), running(schedulers[1]):
        await until(three)
    slots = await _slots(bench)
    assert len(slots) == len(set(slots))
    early = "SELECT count(*) FROM dl_job_events WHERE at < (payload ->> 'slot')::timestamptz"
    assert await bench.value(early) == 0
    row = await bench.execute("SELECT DISTINCT args, lock_key, priority, max_attempts, producer FROM dl_jobs")
    assert row == [({"a": 1}, "l", 3, None, "schedule")]


async def test_schedules_that_name_no_zone_get_that_of_the_service(bench: Bench) -> None:
    tokyo = Schedules("Asia/Tokyo")
    admin = JobAdmin(bench.db, bench.store, schedules=tokyo)
    silent, named = (
        Schedule(name, "q", "noop", cron="30 9 * * *", time_zone=zone) for name, zone in (("a", ""), ("b", "UTC"))
    )
    first, second = [(await admin.put_schedule(each, by="anna")) for each in (silent, named)]
    assert (first.schedule.time_zone, second.schedule.time_zone) == ("Asia/Tokyo", "UTC")
    assert (first.next_slot.hour, second.next_slot.hour) == (0, 9)
    own = Schedule("own", "q", "noop", cron="30 9 * * *")
    async with running(Scheduler(bench.db, bench.store, own=[own], schedules=tokyo)):
        await until(lambda: bench.value("SELECT bool_or(name = 'own' AND time_zone = 'Asia/Tokyo') FROM dl_schedules"))
    with pytest.raises(ValueError, match="Europe/Nowhere"):
        Schedules("Europe/Nowhere")
