"""Jobs: the engine from a connection string, in transactions of callers, including blocking ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from structlog.testing import capture_logs

from classifeed_jobs import JobRequest, Jobs, Schedule
from classifeed_jobs.schema.ddl import VERSIONS
from classifeed_jobs.schema.install import InstallError

from .conftest import until


@pytest.fixture
async def jobs(database_dsn: str) -> AsyncIterator[Jobs]:
    async with Jobs(database_dsn, schema="shop_jobs") as made:
        await made.install()
        yield made


@pytest.fixture
def url(database_dsn: str) -> sqlalchemy.URL:
    """Return the database as SQLAlchemy names it."""
    given = psycopg.conninfo.conninfo_to_dict(database_dsn)
    query = {name: str(value) for name, value in given.items() if name not in {"user", "password", "dbname"}}
    return sqlalchemy.URL.create(
        "postgresql+psycopg",
        username=str(given.get("user", "")) or None,
        password=str(given.get("password", "")) or None,
        database=str(given.get("dbname", "")),
        query=query,
    )


@pytest.fixture
def engine(url: sqlalchemy.URL) -> Iterator[sqlalchemy.Engine]:
    made = sqlalchemy.create_engine(url)
    yield made
    made.dispose()


async def count(jobs: Jobs) -> int:
    async with jobs.database.transaction() as tx:
        [(found,)] = await (await tx.execute("SELECT count(*) FROM dl_jobs")).fetchall()
    return int(found)


async def test_install_makes_the_tables_once_whoever_calls_it(database_dsn: str) -> None:
    async with Jobs(database_dsn, schema="shop_jobs") as jobs:
        applied = await asyncio.gather(*(jobs.install() for _ in range(4)))
        assert sorted(applied) == [[], [], [], list(VERSIONS)]
        assert await jobs.install() == []
        assert await count(jobs) == 0


async def test_install_goes_on_after_the_versions_that_are_there(jobs: Jobs) -> None:
    async with jobs.database.transaction() as tx:
        await tx.execute("DELETE FROM dl_versions WHERE version >= 4")
    with pytest.raises(psycopg.Error):  # what version 4 makes is there already: it was tried, and that alone
        await jobs.install()
    async with jobs.database.transaction() as tx:
        versions = await (await tx.execute("SELECT version FROM dl_versions ORDER BY 1")).fetchall()
    assert versions == [(1,), (2,), (3,)]


async def test_install_leaves_the_tables_of_migrations_alone(jobs: Jobs) -> None:
    async with jobs.database.transaction() as tx:
        await tx.execute("DROP TABLE dl_versions")
    with pytest.raises(InstallError, match="schema shop_jobs has job tables that install did not create"):
        await jobs.install()


async def test_tasks_run_and_schedules_are_followed_and_each_run_is_a_line_of_the_log(jobs: Jobs) -> None:
    ran: list[Any] = []
    stop = asyncio.Event()

    @jobs.task
    async def greet(ctx: Any, args: dict[str, Any]) -> str:
        ran.append(args.get("name"))
        return "done"

    @jobs.task("refuse", max_run_s=60)
    def refuse(ctx: Any, args: dict[str, Any]) -> None:
        raise RuntimeError("no")

    jobs.schedule(Schedule("soon", "default", "greet", {"name": "clock"}, every_s=1))
    await jobs.enqueue(greet, {"name": "Anna"})
    await jobs.enqueue("refuse", max_attempts=1)
    assert await jobs.copy([JobRequest("default", "greet", {"name": "many"})] * 3) == 3

    async def all_ran() -> bool:
        async with jobs.database.transaction() as tx:
            rows = await (await tx.execute("SELECT status FROM dl_jobs_done WHERE task = 'refuse'")).fetchall()
        return ran.count("many") == 3 and {"Anna", "clock"} <= set(ran) and rows == [("failed",)]

    with capture_logs() as lines:
        working = asyncio.create_task(jobs.work(stop))
        await until(all_ran)
        stop.set()
        await working
    ended = [line for line in lines if line["event"] == "job.run.ended"]
    assert {line["outcome"] for line in ended} == {"succeeded", "retry"}
    assert "RuntimeError: no" in {line["message"] for line in ended}
    assert all(line["duration_ms"] >= 0 for line in ended)


@pytest.mark.parametrize("commits", [True, False])
async def test_a_job_belongs_to_the_transaction_of_a_blocking_connection(
    jobs: Jobs, database_dsn: str, commits: bool
) -> None:
    def enqueue() -> list[str]:
        with psycopg.connect(database_dsn, row_factory=dict_row) as connection:
            before = connection.execute("SHOW search_path").fetchone()
            made = jobs.enqueue_sync(connection, "greet", {"n": 1}, idempotency_key="k")
            again = jobs.enqueue_sync(connection, "greet", {"n": 1}, idempotency_key="k")
            assert (made.created, again.created, again.job_id) == (True, False, made.job_id)
            assert connection.execute("SHOW search_path").fetchone() == before
            if not commits:
                connection.rollback()
        return []

    await asyncio.to_thread(enqueue)
    assert await count(jobs) == (1 if commits else 0)


async def test_a_job_belongs_to_the_transaction_of_a_session(jobs: Jobs, engine: sqlalchemy.Engine) -> None:
    def enqueue() -> None:
        with Session(engine) as session:
            jobs.enqueue_sync(session, "greet")
            session.rollback()
            jobs.enqueue_sync(session, "greet")
            session.commit()
        with engine.begin() as connection:
            jobs.enqueue_sync(connection, "greet")

    await asyncio.to_thread(enqueue)
    assert await count(jobs) == 2


async def test_a_job_belongs_to_an_asynchronous_transaction(jobs: Jobs, url: sqlalchemy.URL, database_dsn: str) -> None:
    engine = create_async_engine(url)
    async with AsyncSession(engine) as session, session.begin():
        await jobs.enqueue("greet", connection=session)
    async with engine.connect() as connection:
        await jobs.enqueue("greet", connection=connection)
        await connection.rollback()
    await engine.dispose()
    async with await psycopg.AsyncConnection.connect(database_dsn, row_factory=dict_row) as plain:
        await jobs.enqueue("greet", connection=plain)
    assert await count(jobs) == 2


async def test_what_has_no_transaction_is_refused(jobs: Jobs, database_dsn: str) -> None:
    def enqueue() -> None:
        with psycopg.connect(database_dsn, autocommit=True) as connection:
            with pytest.raises(ValueError, match="in autocommit: enqueue in a transaction"):
                jobs.enqueue_sync(connection, "greet")
            with connection.transaction():
                jobs.enqueue_sync(connection, "greet")

    await asyncio.to_thread(enqueue)
    with pytest.raises(TypeError, match=r"enqueue_sync takes a connection of psycopg 3, .*, not str"):
        jobs.enqueue_sync("a DSN", "greet")
    with pytest.raises(TypeError, match=r"enqueue takes .* not object"):
        await jobs.enqueue("greet", connection=object())
    assert await count(jobs) == 1
