"""Errors of the database in each role: the role logs and reports them, continues, and loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo
from structlog.testing import capture_logs

from classifeed_common.db import Database
from classifeed_common.faults import lasting
from classifeed_jobs import JobContext, Notifier, Reaper, Retention, Schedule, Scheduler, Schedules, Worker
from classifeed_jobs.claim.claim import Claim, Completion
from classifeed_jobs.claim.fetch import claim_jobs
from classifeed_jobs.maintenance.housekeeping import Housekeeping
from classifeed_jobs.worker.completions import Completions
from classifeed_jobs.worker.heartbeat import Heartbeat
from classifeed_jobs.worker.process_lease import ProcessLease
from classifeed_jobs.worker.session import Session

from ..conftest import Bench, until

Logs = list[Any]
Named = tuple[Callable[[], Mapping[str, str]], str]


@pytest.fixture(autouse=True)
def named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasting, "_NAMED_AFTER_S", 0.0)


@pytest.fixture
async def hasty(bench: Bench) -> AsyncIterator[Database]:
    """Set a lock timeout of 50 ms, so that a locked table is a transient error."""
    database = Database(
        make_conninfo(bench.db.dsn, options="-c lock_timeout=50"), schema="test", application_name="hasty"
    )
    await database.open()
    yield database
    await database.close()


async def _reported(logs: Logs, event: str, level: str) -> None:
    async def is_reported() -> bool:
        return any((line["event"], line["log_level"]) == (event, level) for line in logs)

    await until(is_reported)


async def _through_faults(
    bench: Bench, logs: Logs, table: str, event: str, begin: Callable[[], Awaitable[Any]], named: Named
) -> Any:
    """Return a fault that passes (the table is locked) and is logged as a warning, then one that does not (the table is
    away), logged as an error and named until it is over."""
    blocked, item = named
    async with bench.db.dedicated_connection() as locking, locking.transaction():
        await locking.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        begun = await begin()
        await _reported(logs, event, "warning")
        await locking.execute(f"ALTER TABLE {table} RENAME TO away")
    await _reported(logs, event, "error")

    async def is_named() -> bool:
        return f'relation "{table}" does not exist' in blocked().get(item, "")

    await until(is_named)
    await bench.execute(f"ALTER TABLE away RENAME TO {table}")

    async def is_over() -> bool:
        return not blocked()

    await until(is_over)
    return begun


async def _claim(bench: Bench) -> Claim:
    async with bench.db.connection() as connection:
        await ProcessLease("w1", ["q"]).register(connection)
        response = await claim_jobs(connection, worker_id="w1", queue="q", wanted=1, fresh_s=60)
    return response.claims[0]


class Beside:
    """A role that runs during the test."""

    def __init__(self, role: Any) -> None:
        self._role = role
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        self._task = asyncio.create_task(self._role.run(self._stop))

    async def end(self) -> None:
        self._stop.set()
        assert self._task is not None
        await self._task


async def test_reaper_goes_on_after_faults(bench: Bench, hasty: Database) -> None:
    job_id = await bench.enqueue(lease_ttl_s=1, max_attempts=None)
    await _claim(bench)
    reaper = Reaper(hasty, reaper_period_s=0.1, retention=None)
    beside = Beside(reaper)
    with capture_logs() as logs:
        await _through_faults(bench, logs, "dl_jobs", "reaper.failed", beside.begin, (reaper.blocked, "lost jobs"))

        async def is_back() -> bool:
            return "requeued" in await bench.kinds(job_id)

        await until(is_back)
        await beside.end()


async def test_scheduler_goes_on_after_faults_and_makes_the_slot_once(bench: Bench, hasty: Database) -> None:
    async with bench.db.transaction() as tx:
        await Schedules().put(tx, Schedule("s", "q", "noop", every_s=86400))
    await bench.execute("UPDATE dl_schedules SET next_slot = next_slot - interval '1 day'")
    scheduler = Scheduler(hasty, bench.store, period_s=0.1)
    beside, named = Beside(scheduler), (scheduler.blocked, "schedules")
    with capture_logs() as logs:
        await _through_faults(bench, logs, "dl_schedules", "scheduler.failed", beside.begin, named)

        async def is_made() -> bool:
            return bool(await bench.value("SELECT count(*) FROM dl_jobs"))

        await until(is_made)
        await beside.end()
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 1


async def test_chore_that_fails_is_tried_again_and_keeps_no_other_from_being_done(
    bench: Bench, hasty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_jobs.maintenance.housekeeping._FAULT_WAIT_S", 0.05)
    async with bench.db.connection() as connection:
        await ProcessLease("gone", ["q"]).register(connection)
    await bench.execute("UPDATE dl_workers SET renewed_at = renewed_at - interval '1 day'")
    chores = Housekeeping(hasty, retention=Retention(), forget_workers_s=1)
    partitions = "SELECT count(*) > 0 FROM pg_inherits WHERE inhparent = 'dl_job_events'::regclass"
    tending: list[asyncio.Task[None]] = []

    async def begin() -> None:
        tending.append(asyncio.create_task(chores.run()))

    async def is_archive_tended() -> bool:
        return bool(await bench.value(partitions))

    async def is_forgotten() -> bool:
        return bool(await bench.value("SELECT count(*) = 0 FROM dl_workers"))

    with capture_logs() as logs:
        named = (chores.blocked, "chore forget")
        await _through_faults(bench, logs, "dl_workers", "reaper.chore.failed", begin, named)
        await until(is_archive_tended)
        await until(is_forgotten)
    tending[0].cancel()
    failed = {line["work"] for line in logs if line["event"] == "reaper.chore.failed"}
    assert failed <= {"chore forget", "chore figures"}


async def test_worker_goes_on_claiming_after_faults(bench: Bench, hasty: Database) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    worker = Worker(hasty, bench.store, bench.registry, queues={"q": 2}, claim_backoff_s=3600.0)
    beside = Beside(worker)
    job_id = await bench.enqueue()
    with capture_logs() as logs:
        await _through_faults(bench, logs, "dl_jobs", "worker.claim.failed", beside.begin, (worker.blocked, "claims"))
        assert await bench.ended(job_id) == ["succeeded"]
        await beside.end()
    waits = [line["retry_in_s"] for line in logs if line["event"] == "worker.claim.failed"]
    assert waits[:2] == [0.1, 0.2]


async def test_heartbeat_that_fails_is_tried_again_long_before_the_next_one(bench: Bench, hasty: Database) -> None:
    session, lease = Session(hasty), ProcessLease("w1", ["q"])
    async with bench.db.connection() as connection:
        await lease.register(connection)
    heartbeat = Heartbeat(session, lease, {}, _writer(bench.db, bench), heartbeat_s=36000.0)
    renewed = "SELECT renewed_at FROM dl_workers"
    before = await bench.value(renewed)

    async def is_renewed() -> bool:
        return bool(await bench.value(renewed) > before)

    with capture_logs() as logs:
        async with bench.db.dedicated_connection() as locking, locking.transaction():
            await locking.execute("LOCK TABLE dl_workers IN SHARE MODE")
            beating = asyncio.create_task(heartbeat.run())
            await _reported(logs, "worker.heartbeat.failed", "warning")
            assert heartbeat.loop.fault.attempts > 0
        await until(is_renewed)

        async def is_over() -> bool:
            return heartbeat.loop.fault.attempts == 0

        await until(is_over)  # the renewal is committed before the heartbeat is complete
    beating.cancel()
    await asyncio.wait([beating])
    await session.close()
    assert {line["retry_in_s"] for line in logs} == {0.5}


def _writer(database: Database, bench: Bench) -> Completions:
    return Completions(database, Notifier(bench.db), {}, caught_up=lambda: None, promoted=lambda _: None)


async def _write(writer: Completions, *completions: Completion) -> None:
    writing = asyncio.create_task(writer.run())
    for completion in completions:
        writer.put(completion)
        assert writer.is_pending(completion.key)
    async with asyncio.timeout(90):
        await writer.drained()
    assert not any(writer.is_pending(completion.key) for completion in completions)
    writing.cancel()
    await asyncio.wait([writing])


async def test_end_is_written_until_the_database_has_taken_it(bench: Bench, hasty: Database) -> None:
    job_id = await bench.enqueue()
    claim, writer = await _claim(bench), _writer(hasty, bench)
    with capture_logs() as logs:
        async with bench.db.dedicated_connection() as locking, locking.transaction():
            await locking.execute("SELECT FROM dl_jobs FOR UPDATE")
            writing = asyncio.create_task(_write(writer, Completion(claim.job_id, claim.claim_no, "succeeded")))
            await _reported(logs, "worker.complete.failed", "warning")
            assert not writing.done()
            assert writer.fault.attempts > 0
        await writing
    assert writer.fault.attempts == 0
    assert await bench.ended(job_id) == ["succeeded"]
    assert {line["event"] for line in logs} == {"worker.complete.failed"}
    waits = [line["retry_in_s"] for line in logs]
    assert waits[:2] == [0.05, 0.1][: len(waits)]


async def test_end_refused_at_a_later_try_is_logged_as_perhaps_written(bench: Bench, hasty: Database) -> None:
    """An attempt without a response may have completed the job."""
    job_id = await bench.enqueue()
    claim = await _claim(bench)
    with capture_logs() as logs:
        async with bench.db.dedicated_connection() as other, other.transaction():
            await other.execute("SELECT FROM dl_jobs FOR UPDATE")
            writing = asyncio.create_task(
                _write(_writer(hasty, bench), Completion(claim.job_id, claim.claim_no, "failed"))
            )
            await _reported(logs, "worker.complete.failed", "warning")
            await other.execute("UPDATE dl_jobs SET claim_no = claim_no + 1")
        await writing
    assert logs[-1]["error"] == "the claim is no longer held (or the job was completed by the previous attempt)"
    assert (await bench.job(job_id)).status == "running"


async def test_end_that_cannot_be_stored_fails_its_job_and_spoils_no_other(bench: Bench) -> None:
    good, bad = [await bench.enqueue() for _ in range(2)]
    claims = {claim.job_id: claim for claim in [await _claim(bench), await _claim(bench)]}
    with capture_logs() as logs:
        await _write(
            _writer(bench.db, bench),
            Completion(good, claims[good].claim_no, "succeeded", result={"n": 1}),
            Completion(bad, claims[bad].claim_no, "succeeded", result="\0"),
        )
    assert await bench.ended(good, bad) == ["succeeded", "failed"]
    assert (await bench.job(good)).result == {"n": 1}
    error = (await bench.job(bad)).error
    assert error is not None
    assert error.startswith("the outcome 'succeeded' could not be written: ")
    (reported,) = [line for line in logs if line["log_level"] == "error"]
    assert (reported["event"], reported["job_id"]) == ("worker.complete.failed", str(bad))


async def test_wake_that_fails_is_logged_and_the_next_one_leaves(bench: Bench, hasty: Database) -> None:
    notifier = Notifier(hasty)
    async with bench.db.dedicated_connection() as listener:
        await listener.execute("LISTEN dl_jobs")
        await bench.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
            "WHERE application_name = 'hasty' AND datname = current_database()"
        )
        with capture_logs() as logs:
            for queue in ("first", "second"):
                notifier.wake({queue})
                await notifier.settled()
        heard = [notification.payload async for notification in listener.notifies(timeout=60, stop_after=1)]
    assert [(line["event"], line["queues"]) for line in logs] == [("notifier.failed", ["first"])]
    assert heard == ["second"]


async def test_session_makes_a_new_connection_after_a_fault_and_leaves_a_later_one_alone(bench: Bench) -> None:
    session = Session(bench.db)

    async def backend() -> int:
        async with session.use() as connection:
            row = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
        assert row is not None
        return int(row[0])

    first = await backend()
    assert await backend() == first
    users = [session.use(), session.use()]  # a claim and a heartbeat, on one connection
    for user in users:
        await user.__aenter__()
    fault = ConnectionError("in the middle")
    assert not await users[0].__aexit__(ConnectionError, fault, None)
    second = await backend()
    assert second != first
    assert not await users[1].__aexit__(ConnectionError, fault, None)
    assert await backend() == second
    await session.close()
    assert await backend() != second
    await session.close()
