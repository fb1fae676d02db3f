"""Job tables in a separate schema: everything works as before, and the service's other tables stay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
import sqlalchemy

from classifeed_common.db import Database
from classifeed_common.db.migrations import check_drift
from classifeed_devkit.testing.background import running
from classifeed_jobs import (
    JobContext,
    JobRequest,
    JobSettings,
    PlacingError,
    Reaper,
    Retention,
    Schedule,
    Scheduler,
    Schedules,
    ddl,
)
from classifeed_jobs.maintenance.housekeeping import Housekeeping
from classifeed_jobs.maintenance.retention import Archive
from classifeed_jobs.schema.ddl import VERSIONS
from classifeed_jobs.schema.placing import place_jobs
from classifeed_jobs.schema.tables import add_jobs

from ..conftest import Bench, until

_PLACES = "SELECT DISTINCT relnamespace::regnamespace::text FROM pg_class WHERE relname ^@ 'dl_' AND relkind <> 't'"
_FUNCTIONS = (
    "SELECT DISTINCT pronamespace::regnamespace::text FROM pg_proc "
    "WHERE proname IN ('dl_new_job_id', 'notify_job_ready')"
)


@pytest.fixture
async def old(bench: Bench) -> Bench:
    """Return an existing service in schema `test`, with other tables and a view of the job tables."""
    await bench.execute("CREATE TABLE orders (number int)")
    await bench.execute("CREATE VIEW held AS SELECT lock_key FROM dl_job_locks")
    return bench


async def place(bench: Bench) -> int:
    return await place_jobs(bench.db.dsn, schema="test", queue_schema="jobs")


@pytest.fixture
async def placed(old: Bench) -> AsyncIterator[Bench]:
    """Yield the same service with its job tables in schema `jobs`."""
    await place(old)
    database = Database(old.db.dsn, schema="test", further_schemas=["jobs"], application_name="placed")
    await database.open()
    yield Bench(database)
    await database.close()


async def test_everything_of_the_jobs_moves_and_nothing_else(old: Bench) -> None:
    await Archive(old.db, Retention()).tend()
    job_id = await old.enqueue(lock_key="k")
    assert await place(old) > 10
    assert await old.execute(_PLACES) == [("jobs",)]
    assert await old.execute(_FUNCTIONS) == [("jobs",)]
    kept = "SELECT relname FROM pg_class WHERE relnamespace = 'test'::regnamespace ORDER BY 1"
    assert await old.execute(kept) == [("held",), ("orders",)]
    assert await old.execute("SELECT job_id FROM jobs.dl_jobs") == [(job_id,)]
    assert await place(old) == 0


async def test_jobs_run_in_it_and_are_joined_with_the_other_tables(placed: Bench) -> None:
    held: list[Any] = []

    @placed.registry.register("note")
    async def note(ctx: JobContext, args: dict[str, Any]) -> None:
        async with ctx.db.transaction() as tx:
            await ctx.guard(tx)
            await tx.execute("INSERT INTO orders VALUES (%s)", [args["number"]])
            held.extend(await (await tx.execute("SELECT lock_key FROM held")).fetchall())

    async with placed.db.transaction() as tx:
        await tx.execute("INSERT INTO orders VALUES (1)")
        job = await placed.store.enqueue(tx, "q", "note", {"number": 2}, lock_key="k", idempotency_key="i")

    async def enqueue_and_fail() -> None:
        async with placed.db.transaction() as tx:
            await placed.store.enqueue(tx, "q", "note", {"number": 3})
            raise LookupError

    with pytest.raises(LookupError):
        await enqueue_and_fail()
    async with placed.working(claim_backoff_s=60), running(Reaper(placed.db)):
        assert await placed.ended(job.job_id) == ["succeeded"]
        # The trigger of the moved table notifies the worker, which polls only once a minute.
        assert await placed.ended(await placed.enqueue("note", {"number": 4})) == ["succeeded"]
    assert held == [("k",)]
    assert await placed.execute("SELECT number FROM orders ORDER BY 1") == [(1,), (2,), (4,)]
    joined = "SELECT o.number FROM orders o JOIN dl_jobs_done d ON (d.args ->> 'number')::int = o.number ORDER BY 1"
    assert await placed.execute(joined) == [(2,), (4,)]
    async with placed.db.transaction() as tx:
        assert await placed.store.copy_many(tx, [JobRequest("q", "note") for _ in range(3)]) == 3
        await Schedules().put(tx, Schedule("s", "q", "note", every_s=86400))
    await Scheduler(placed.db, placed.store).make_due()
    assert await placed.value("SELECT count(*) FROM jobs.dl_jobs") == 3
    assert await placed.value("SELECT count(*) FROM jobs.dl_schedules") == 1


async def test_partitions_are_made_and_dropped_there(placed: Bench) -> None:
    day = await placed.value("SELECT current_date - 50")
    await placed.execute(
        "CREATE TABLE jobs.dl_jobs_done_old PARTITION OF dl_jobs_done "
        f"FOR VALUES FROM ('{day}') TO ('{await placed.value('SELECT current_date - 43')}')"
    )
    await Archive(placed.db, Retention()).tend()
    names = (
        "SELECT relnamespace::regnamespace::text, relname FROM pg_class WHERE relname ~ '^dl_jobs_done_(old|[0-9]+)$'"
    )
    made = await placed.execute(names)
    assert len(made) == 2
    assert {schema for schema, _ in made} == {"jobs"}
    assert await placed.execute(_PLACES) == [("jobs",)]


async def test_dead_rows_there_are_seen_and_vacuumed(placed: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifeed_jobs.maintenance.housekeeping._DEAD_LIMIT", 100)
    await placed.execute("ALTER TABLE dl_jobs SET (autovacuum_enabled = off)")
    async with placed.db.transaction() as tx:
        await placed.store.enqueue_many(tx, [JobRequest("q", "noop") for _ in range(300)])
    await placed.execute("DELETE FROM dl_jobs")
    dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'jobs.dl_jobs'::regclass"

    async def is_seen() -> bool:
        await placed.execute("SELECT pg_stat_force_next_flush()")
        return bool(await placed.value(dead) >= 300)

    await until(is_seen)
    await Housekeeping(placed.db, retention=None, forget_workers_s=3600).vacuum()
    assert await placed.value(dead) == 0


async def test_statements_of_sqlalchemy_find_it_by_the_map(placed: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = await placed.enqueue()
    monkeypatch.setenv("PG_SCHEMA_QUEUE", "jobs")
    metadata = sqlalchemy.MetaData()
    add_jobs(metadata)
    mapped = {"schema_translate_map": JobSettings.load().schema_translate_map}
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(placed.db.dsn),
        execution_options=mapped,
        poolclass=sqlalchemy.NullPool,
    )
    with engine.connect() as connection:
        [found] = connection.execute(sqlalchemy.select(metadata.tables["queue.dl_jobs"].c.job_id)).scalars()
    engine.dispose()
    assert found == job_id


async def test_models_and_tables_agree_there_too(placed: Bench) -> None:
    metadata = sqlalchemy.MetaData()
    add_jobs(metadata)
    sqlalchemy.Table("orders", metadata, sqlalchemy.Column("number", sqlalchemy.Integer))
    where = {"schema_translate_map": {"queue": "jobs"}}
    assert check_drift("classifeed_jobs", placed.db.dsn, "test", metadata, **where) == []
    await placed.execute("ALTER TABLE jobs.dl_queues ADD COLUMN colour text")
    [line] = check_drift("classifeed_jobs", placed.db.dsn, "test", metadata, **where)
    assert "colour" in line


async def test_what_a_later_version_makes_follows(placed: Bench) -> None:
    await placed.execute("CREATE TABLE test.dl_later (id int)")
    assert await place(placed) == 1
    assert await placed.value("SELECT to_regclass('jobs.dl_later')::text") == "dl_later"


async def test_two_at_once_do_not_fall_over_each_other(old: Bench) -> None:
    moved = await asyncio.gather(*(place(old) for _ in range(4)))
    assert sorted(count > 0 for count in moved) == [False, False, False, True]
    assert await old.execute(_PLACES) == [("jobs",)]


async def test_tables_of_others_are_left_alone(placed: Bench) -> None:
    async with placed.db.transaction() as tx:
        await tx.execute("SET LOCAL search_path = test")
        for version in VERSIONS:
            await tx.execute(ddl(version))
    with pytest.raises(PlacingError, match="schema jobs has job tables already, and so has test"):
        await place(placed)
    with pytest.raises(PlacingError, match="there are no job tables in public or elsewhere: run the migrations"):
        await place_jobs(placed.db.dsn, schema="public", queue_schema="elsewhere")
    assert await placed.value("SELECT to_regnamespace('elsewhere')") is None
    assert await placed.execute(_PLACES + " ORDER BY 1") == [("jobs",), ("test",)]
