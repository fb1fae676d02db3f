"""Schedules: one job for each slot, over all replicas, kills and pauses."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from classifeed_common.errors import NotFound
from classifeed_jobs import JobAdmin, Schedule, Scheduler, Schedules

from .conftest import Bench, running, until

SCHEDULES = Schedules()


async def _put(bench: Bench, **options: Any) -> None:
    async with bench.db.transaction() as tx:
        await SCHEDULES.put(tx, Schedule(**{"name": "s", "queue": "q", "task": "noop"} | options))


async def _state(bench: Bench) -> Any:
    async with bench.db.transaction() as tx:
        return (await SCHEDULES.list(tx))[0]


async def _stay_away(bench: Bench, hours: float) -> datetime:
    """Nobody saw to the schedule for so long; returns the first slot that was missed."""
    await bench.execute("UPDATE dl_schedules SET next_slot = next_slot - %s * interval '1 hour'", hours)
    return (await _state(bench)).next_slot


async def _slots(bench: Bench) -> list[datetime]:
    rows = await bench.execute("SELECT payload ->> 'slot' FROM dl_job_events WHERE kind = 'queued' ORDER BY event_id")
    return [datetime.fromisoformat(row[0]) for row in rows]


async def test_many_replicas_make_one_job_for_each_slot(bench: Bench) -> None:
    for n in range(5):
        await _put(bench, name=f"s{n}", every_s=3600, missed="run_all")
    await _stay_away(bench, 9)
    schedulers = [Scheduler(bench.db, bench.store) for _ in range(6)]
    await asyncio.gather(*(scheduler.make_due() for scheduler in schedulers for _ in range(3)))
    slots = await bench.execute(
        "SELECT payload ->> 'schedule', payload ->> 'slot', count(*) FROM dl_job_events GROUP BY 1, 2"
    )
    assert {row[2] for row in slots} == {1}
    assert len(slots) == 5 * 9


async def test_slot_is_made_once_even_when_the_schedule_is_put_back(bench: Bench) -> None:
    """Somebody restores or makes anew a schedule whose slot has been run: its key remembers."""
    await _put(bench, every_s=3600)
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
async def test_missed_slots(bench: Bench, missed: str, late_h: int, made: int) -> None:
    # The newest slot is at least a grace old: slots on the hour are seen to in the middle of it.
    await _put(bench, every_s=3600, missed=missed, grace_s=0)
    first = await _stay_away(bench, late_h)
    await Scheduler(bench.db, bench.store).make_due()
    newest = first + timedelta(hours=late_h - 1)
    slots = await _slots(bench)
    assert len(slots) == made
    assert slots[-1:] == ([newest] if made else [])
    state = await _state(bench)
    assert state.next_slot == newest + timedelta(hours=1)
    assert (state.last_slot, state.last_job_id is not None) == (newest if made else None, bool(made))


async def test_slot_within_its_grace_is_on_time(bench: Bench) -> None:
    await _put(bench, every_s=3600, missed="skip", grace_s=3600)
    await _stay_away(bench, 5)
    await Scheduler(bench.db, bench.store).make_due()
    assert len(await _slots(bench)) == 1


async def test_newest_of_a_few_slots_that_were_missed_is_run(bench: Bench) -> None:
    await _put(bench, every_s=10)
    await bench.execute("UPDATE dl_schedules SET next_slot = next_slot - interval '50 s'")
    first = (await _state(bench)).next_slot
    await Scheduler(bench.db, bench.store).make_due()
    (slot,) = await _slots(bench)
    assert slot - first in {timedelta(seconds=40), timedelta(seconds=50)}
    assert (await _state(bench)).next_slot == slot + timedelta(seconds=10)


async def test_scheduler_without_schedules_finds_the_first_one_put(bench: Bench) -> None:
    class Counting(Scheduler):
        looks = 0

        async def make_due(self) -> int:
            self.looks += 1
            return await super().make_due()

    scheduler = Counting(bench.db, bench.store, period_s=0.05)

    async def has_looked_in_vain() -> bool:
        return scheduler.looks >= 2

    async with running(scheduler):
        await until(has_looked_in_vain)
        await _put(bench, every_s=3600)
        await _stay_away(bench, 1)

        async def is_made() -> bool:
            return bool(await bench.value("SELECT count(*) FROM dl_jobs"))

        await until(is_made)
    assert (await _state(bench)).last_slot is not None


async def test_resume_of_nothing_changes_nothing(bench: Bench) -> None:
    await _put(bench, every_s=3600)
    first = await _stay_away(bench, 1)
    async with bench.db.transaction() as tx:
        assert not await SCHEDULES.resume(tx, "nothing")
        assert not await SCHEDULES.resume(tx, "s")
    assert (await _state(bench)).next_slot == first


async def test_years_of_missed_minutes_cost_no_walk(bench: Bench) -> None:
    await _put(bench, cron="* * * * *", time_zone="Europe/Moscow")
    await _stay_away(bench, 24 * 365 * 5)
    async with asyncio.timeout(5):
        await Scheduler(bench.db, bench.store).make_due()
    assert len(await _slots(bench)) == 1
    due_in_s = await bench.value("SELECT extract(epoch FROM next_slot - clock_timestamp())::float8 FROM dl_schedules")
    assert 0 < due_in_s <= 60


async def test_put_again_keeps_the_slot_and_the_pause_new_timing_moves_it(bench: Bench) -> None:
    await _put(bench, every_s=3600)
    first = await _stay_away(bench, 1)
    await _put(bench, every_s=3600, args={"a": 1})
    assert (await _state(bench)).next_slot == first
    async with bench.db.transaction() as tx:
        assert await SCHEDULES.pause(tx, "s", by="anna")
        assert not await SCHEDULES.pause(tx, "s", by="boris")
    await _put(bench, every_s=3600)
    assert (await _state(bench)).paused_by == "anna"
    await _put(bench, every_s=60)
    assert await bench.value("SELECT next_slot > now() AND next_slot <= now() + interval '1 minute' FROM dl_schedules")


async def test_paused_schedule_makes_nothing_and_has_missed_nothing(bench: Bench) -> None:
    admin = JobAdmin(bench.db, bench.store)
    await admin.put_schedule(Schedule("s", "q", "noop", every_s=3600, missed="run_all"), by="anna")
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
    await _put(bench, every_s=1, args={"a": 1}, lock_key="l", priority=3, max_attempts=None)

    async def three() -> bool:
        return bool(await bench.value("SELECT count(*) >= 3 FROM dl_jobs"))

    async with running(Scheduler(bench.db, bench.store)), running(Scheduler(bench.db, bench.store)):
        await until(three, within_s=10)
    slots = await _slots(bench)
    assert len(slots) == len(set(slots))
    late_s = await bench.value(
        "SELECT max(extract(epoch FROM at - (payload ->> 'slot')::timestamptz))::float8 FROM dl_job_events"
    )
    assert 0 <= late_s < 0.9
    row = await bench.execute("SELECT DISTINCT args, lock_key, priority, max_attempts, producer FROM dl_jobs")
    assert row == [({"a": 1}, "l", 3, None, "schedule")]
