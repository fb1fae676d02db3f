"""Partitions created ahead and dropped by age, old rows, dead rows, expired keys, and metrics."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from classifeed_devkit.testing.background import running
from classifeed_jobs import JobContext, JobRequest, Reaper, Retention
from classifeed_jobs.maintenance.housekeeping import Housekeeping
from classifeed_jobs.maintenance.retention import Archive

from ..conftest import Bench, until

_PARTITIONS = (
    "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
    "WHERE i.inhparent = %s::regclass AND c.relname NOT LIKE '%%default' ORDER BY 1"
)
_DONE = (
    "INSERT INTO dl_jobs_done (job_id, queue, task, args, priority, available_at, status, attempt, claim_no, "
    "lease_ttl_sec, cancel_requested, created_at, finished_at) SELECT dl_new_job_id(), 'q', 'noop', '{}', 100, now(), "
    "'succeeded', 1, 1, 60, false, now(), now() + make_interval(days => %s) FROM generate_series(1, %s)"
)
_ENDED = (
    "INSERT INTO dl_jobs_done (job_id, queue, task, args, priority, available_at, status, attempt, claim_no, "
    "lease_ttl_sec, cancel_requested, created_at, lock_key, finished_at) SELECT dl_new_job_id(), 'q', 'noop', '{}', "
    "100, now(), %s, 1, 1, 60, false, now(), %s, now() - make_interval(hours => %s)"
)
_SCHEDULE = (
    "INSERT INTO dl_schedules (name, queue, task, args, lock_key, priority, every_sec, time_zone, missed, grace_sec, "
    "next_slot, created_at, paused_at) SELECT %s, 'q', 'noop', '{}', %s, 100, 3600, 'UTC', 'skip', 60, "
    "now() + interval '1 day', now() - interval '9 hours', CASE WHEN %s THEN now() END"
)
_EVENTS = (
    "INSERT INTO dl_job_events (job_id, kind, attempt, claim_no, at) SELECT dl_new_job_id(), 'queued', 0, 0, "
    "now() + make_interval(days => %s) FROM generate_series(1, %s)"
)


async def _names(bench: Bench, parent: str) -> list[str]:
    return [row[0] for row in await bench.execute(_PARTITIONS, parent)]


@pytest.mark.parametrize("parent", ["dl_jobs_done", "dl_job_events"])
async def test_partitions_are_made_ahead_and_rows_go_into_them(bench: Bench, parent: str) -> None:
    archive = Archive(bench.db, Retention(partition_days=3))
    await asyncio.gather(*(archive.tend() for _ in range(3)))
    await archive.tend()
    names = await _names(bench, parent)
    assert len(names) == 2
    await bench.execute(_DONE if parent == "dl_jobs_done" else _EVENTS, 1, 5)
    assert await bench.value(f"SELECT count(*) FROM {names[0]}") == 5
    await bench.execute(_DONE if parent == "dl_jobs_done" else _EVENTS, 0, 5)
    assert await bench.value(f"SELECT count(*) FROM {parent}_default") == 5
    # It has the same columns, keys and indexes as the other partitions.
    indexes = "SELECT count(*) FROM pg_index WHERE indrelid = %s::regclass"
    assert await bench.value(indexes, names[0]) == await bench.value(indexes, f"{parent}_default")


async def test_old_partitions_are_dropped_and_old_rows_without_one_deleted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_jobs.maintenance.retention._SLICE", 7)
    for parent in ("dl_jobs_done", "dl_job_events"):
        for age, name in ((40, "old"), (33, "newer")):
            await bench.execute(
                f"CREATE TABLE {parent}_{name} PARTITION OF {parent} "
                f"FOR VALUES FROM ('{(await bench.value('SELECT current_date - %s', age))}') "
                f"TO ('{(await bench.value('SELECT current_date - %s', age - 7))}')"
            )
    for insert in (_DONE, _EVENTS):
        for days in (-40, -33, -50, -31, -29, 0):
            await bench.execute(insert, days, 20)
    await Archive(bench.db, Retention(done_days=30, events_days=30)).tend()
    for parent in ("dl_jobs_done", "dl_job_events"):
        assert [name for name in await _names(bench, parent) if "old" in name or "newer" in name] == [f"{parent}_newer"]
        # Its newest rows are not old enough yet; those before them go with them.
        assert await bench.value(f"SELECT count(*) FROM {parent}_newer") == 60
        assert await bench.value(f"SELECT count(*) FROM {parent}_default") == 20


async def test_change_that_would_wait_for_a_reader_gives_up_and_comes_later(bench: Bench) -> None:
    archive = Archive(bench.db, Retention())
    async with bench.db.dedicated_connection() as reader:
        async with reader.transaction():
            await reader.execute("SELECT count(*) FROM dl_jobs_done")
            with capture_logs() as logs:
                async with asyncio.timeout(60):
                    await archive.tend()
            # A completion of a job does not wait for it either.
            await bench.execute(_DONE, 0, 1)
        assert [line["event"] for line in logs if line["log_level"] == "warning"] == ["reaper.partition.busy"]
        assert await _names(bench, "dl_jobs_done") == []
    await archive.tend()
    assert len(await _names(bench, "dl_jobs_done")) == 2


async def test_dead_rows_are_vacuumed_unless_a_transaction_holds_on_to_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_jobs.maintenance.housekeeping._DEAD_LIMIT", 100)
    await bench.execute("ALTER TABLE dl_jobs SET (autovacuum_enabled = off)")
    housekeeping = Housekeeping(bench.db, retention=None, forget_workers_s=3600)
    dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'dl_jobs' AND schemaname = current_schema()"

    async def make_dead() -> None:
        async with bench.db.transaction() as tx:
            await bench.store.enqueue_many(tx, [JobRequest("q", "noop") for _ in range(500)])
        await bench.execute("DELETE FROM dl_jobs")

        async def is_seen() -> bool:
            await bench.execute("SELECT pg_stat_force_next_flush()")
            return bool(await bench.value(dead) >= 400)

        await until(is_seen)

    await make_dead()
    await housekeeping.vacuum()
    assert await bench.value(dead) == 0
    async with bench.db.dedicated_connection() as forgotten, forgotten.transaction():
        await forgotten.execute("SELECT txid_current()")
        await make_dead()
        with capture_logs() as logs:
            await housekeeping.vacuum()
            await housekeeping.vacuum()
    assert [line["event"] for line in logs] == ["reaper.vacuum.useless"]


async def test_expired_keys_are_forgotten(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifeed_jobs.maintenance.housekeeping._FORGET_LIMIT", 10)
    async with bench.db.transaction() as tx:
        await bench.store.enqueue_many(tx, [JobRequest("q", "noop", idempotency_key=f"k{n}") for n in range(35)])
    await bench.execute("UPDATE dl_job_keys SET expires_at = now() WHERE idempotency_key <> 'k7'")
    await Housekeeping(bench.db, retention=None, forget_workers_s=3600).forget()
    assert await bench.execute("SELECT idempotency_key FROM dl_job_keys") == [("k7",)]


async def test_figures_of_the_tables_and_of_the_runs(bench: Bench) -> None:
    @bench.registry.register("figured")
    async def figured(ctx: JobContext, args: dict[str, Any]) -> None:
        if args["bad"]:
            raise ValueError

    async with bench.working():
        ids = [await bench.enqueue("figured", {"bad": bad}, max_attempts=1) for bad in (True, False, False)]
        await bench.ended(*ids)
        await bench.enqueue(queue="waiting")
        due = await bench.value("SELECT now() + interval '1 hour'")
        await bench.enqueue(queue="waiting", available_at=due)
        for name in ("ran", "failed", "new", "paused"):
            await bench.execute(_SCHEDULE, name, name, name == "paused")
        for name, status, hours in (
            ("ran", "succeeded", 5),
            ("ran", "succeeded", 2),
            ("ran", "failed", 1),
            ("failed", "failed", 3),
        ):
            await bench.execute(_ENDED, status, name, hours)
        await Housekeeping(bench.db, retention=None, forget_workers_s=3600).show_figures()
    value = REGISTRY.get_sample_value
    assert value("classifeed_jobs_live", {"queue": "waiting", "state": "ready"}) == 1
    assert value("classifeed_jobs_live", {"queue": "waiting", "state": "delayed"}) == 1
    assert value("classifeed_jobs", {"queue": "waiting", "status": "queued"}) == 2
    assert (value("classifeed_jobs_oldest_seconds", {"queue": "waiting"}) or -1) >= 0
    assert value("classifeed_job_workers") == 1
    ages = {
        name: value("classifeed_job_schedule_success_age_seconds", {"schedule": name})
        for name in ("ran", "failed", "new", "paused")
    }
    assert {name: age and age // 3600 for name, age in ages.items()} == {
        "ran": 2,
        "failed": 9,
        "new": 9,
        "paused": None,
    }
    runs = {
        outcome: value("classifeed_job_run_seconds_count", {"queue": "q", "task": "figured", "outcome": outcome})
        for outcome in ("succeeded", "retry")
    }
    assert runs == {"succeeded": 2, "retry": 1}
    assert (value("classifeed_job_wait_seconds_count", {"queue": "q"}) or 0) >= 3


async def test_reaper_does_the_chores_beside_its_work(bench: Bench) -> None:
    async with running(Reaper(bench.db)):

        async def is_tended() -> bool:
            return len(await _names(bench, "dl_job_events")) > 0

        await until(is_tended)


def test_retention_of_no_days_is_refused() -> None:
    with pytest.raises(ValueError, match="done_days must be 1 or more"):
        Retention(done_days=0)
