"""Rare cases: unexpected ends of runs, drains that cannot complete, and limits that are reached."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from psycopg.conninfo import make_conninfo
from structlog.testing import capture_logs

from classifeed_common.db import Database, Tx
from classifeed_devkit.testing.background import running
from classifeed_jobs import (
    FailedJob,
    Fixed,
    JobContext,
    JobRequest,
    JobStore,
    Notifier,
    Progress,
    Reaper,
    Worker,
)
from classifeed_jobs.claim.claim import Completion
from classifeed_jobs.claim.fetch import claim_jobs
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.worker.process_lease import ProcessLease

from ..conftest import Bench, until

_WAITS = (
    "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
    "AND query LIKE %s"
)


class BrokenBackoff(Fixed):
    """A back-off policy that raises."""

    def delay_s(self, attempt: int) -> float:
        raise ZeroDivisionError("no such attempt")


async def test_fault_in_a_tasks_policy_leaves_no_claim_without_an_end(bench: Bench) -> None:
    @bench.registry.register("noop", backoff=BrokenBackoff())
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        raise ValueError

    async with bench.working():
        job_id = await bench.enqueue()

        async def is_back() -> bool:
            return (await bench.job(job_id)).error is not None

        await until(is_back)
    job = await bench.job(job_id)
    assert (job.status, job.error) == ("queued", "ZeroDivisionError: no such attempt")
    told_at = "(SELECT max(at) FROM dl_job_events)"
    assert await bench.value(f"SELECT available_at > {told_at} + interval '10 s' FROM dl_jobs")


class Panic(BaseException):
    """An exception like pyo3's for a panic: not derived from `Exception`, but an error of the job."""


def panic() -> None:
    raise Panic("index out of bounds")


def leave() -> None:
    sys.exit(1)


@pytest.mark.parametrize(("fault", "message"), [(panic, "Panic: index out of bounds"), (leave, "SystemExit: 1")])
@pytest.mark.parametrize("in_thread", [False, True], ids=["coroutine", "thread"])
async def test_job_of_a_handler_that_panics_or_exits_ends_as_a_fault_and_its_slot_is_free(
    bench: Bench, fault: Callable[[], None], message: str, in_thread: bool
) -> None:
    async def coroutine(ctx: JobContext, args: dict[str, Any]) -> None:
        fault()

    def function(ctx: JobContext, args: dict[str, Any]) -> None:
        fault()

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    bench.registry.register("faulty", max_unknown_faults=2, backoff=Fixed(0.01))(function if in_thread else coroutine)
    async with bench.working(1):
        faulty = await bench.enqueue("faulty")
        assert await bench.ended(faulty, within_s=30) == ["failed"]
        following = await bench.enqueue("noop")
        assert await bench.ended(following) == ["succeeded"]
    job = await bench.job(faulty)
    assert (job.unknown_faults, job.claim_no) == (2, 2)
    assert message in str(job.error)


async def test_panic_in_a_hook_ends_no_worker(bench: Bench) -> None:
    async def on_failed(tx: Tx, args: dict[str, Any], job: FailedJob) -> None:
        panic()

    @bench.registry.register("faulty", max_unknown_faults=1, on_failed=on_failed)
    async def faulty(ctx: JobContext, args: dict[str, Any]) -> None:
        raise ZeroDivisionError

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    bench.store = JobStore(tasks=bench.registry)

    async with bench.working():
        kept = await bench.enqueue("faulty")

        async def is_kept() -> bool:
            return "snoozed" in await bench.kinds(kept)

        await until(is_kept, within_s=30)
        following = await bench.enqueue("noop")
        assert await bench.ended(following, within_s=30) == ["succeeded"]
    assert "the on_failed hook of task 'faulty' failed" in str((await bench.job(kept)).error)


async def test_error_out_of_a_handler_that_was_stopped_is_its_stop(bench: Bench) -> None:
    started = asyncio.Event()

    @bench.registry.register("stubborn")
    async def stubborn(ctx: JobContext, args: dict[str, Any]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise OSError("while cleaning up") from None

    async with bench.working(heartbeat_s=0.1):
        job_id = await bench.enqueue("stubborn")
        await started.wait()
        async with bench.db.transaction() as tx:
            await bench.store.cancel(tx, job_id)
        assert await bench.ended(job_id) == ["canceled"]


async def test_handler_that_cancels_itself_has_failed_an_attempt(bench: Bench) -> None:
    @bench.registry.register("noop", backoff=Fixed(0.01))
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        raise asyncio.CancelledError

    async with bench.working():
        job_id = await bench.enqueue(max_attempts=2)
        assert await bench.ended(job_id) == ["failed"]
    assert (await bench.job(job_id)).error == "the handler ended by CancelledError that was not requested"


async def test_worker_one_of_whose_roles_dies_drains_and_ends_with_its_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = asyncio.Event()

    @bench.registry.register("long")
    async def long(ctx: JobContext, args: dict[str, Any]) -> None:
        started.set()
        await asyncio.Event().wait()

    async def die(_: object) -> None:
        await started.wait()
        raise AssertionError("a fault of the engine's own")

    monkeypatch.setattr("classifeed_jobs.worker.listener.Listener.run", die)
    job_id = await bench.enqueue("long")
    with pytest.raises(AssertionError, match="of the engine's own"):
        await bench.worker(drain_grace_s=0.1).run(asyncio.Event())
    assert await bench.kinds(job_id) == ["queued", "picked", "returned"]


async def test_what_is_claimed_when_the_drain_has_begun_goes_back_at_once(bench: Bench) -> None:
    ran: list[int] = []

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        ran.append(ctx.claim_no)

    async def claims() -> bool:
        return bool(await bench.value(_WAITS, "%AS is_shut%"))

    stop = asyncio.Event()
    working = asyncio.create_task(bench.worker().run(stop))
    await bench.ended(await bench.enqueue())
    async with bench.db.dedicated_connection() as locking, locking.transaction():
        await locking.execute("LOCK TABLE dl_queues IN ACCESS EXCLUSIVE MODE")
        job_id = await bench.enqueue()
        await until(claims)
        stop.set()
        await asyncio.wait([working], timeout=0.05)
    await working
    assert ran == [1]
    assert await bench.kinds(job_id) == ["queued", "picked", "returned"]
    assert (await bench.job(job_id)).attempt == 0


async def test_drain_that_cannot_leave_is_logged_and_ends(bench: Bench) -> None:
    hasty = Database(make_conninfo(bench.db.dsn, options="-c lock_timeout=50"), schema="test", application_name="hasty")
    await hasty.open()
    try:
        worker = Worker(hasty, bench.store, bench.registry, queues={"q": 1})
        stop = asyncio.Event()
        working = asyncio.create_task(worker.run(stop))

        async def is_registered() -> bool:
            return bool(await bench.value("SELECT count(*) FROM dl_workers"))

        await until(is_registered)
        with capture_logs() as logs:
            async with bench.db.dedicated_connection() as locking, locking.transaction():
                await locking.execute("LOCK TABLE dl_workers IN SHARE MODE")
                stop.set()
                await working
        (reported,) = [line for line in logs if line["event"] == "worker.drain.incomplete"]
        assert reported["worker_id"] == worker.worker_id
    finally:
        await hasty.close()


async def test_thread_that_does_not_stop_is_handed_back_and_has_no_say(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_jobs.worker.worker._STOP_WAIT_S", 0.2)
    hand_back = Worker._hand_back

    def hand_back_in_time(worker: Worker, runs: list[Any]) -> None:
        monkeypatch.setattr("classifeed_jobs.worker.worker._STOP_WAIT_S", 60.0)  # the requeued jobs must be written
        hand_back(worker, runs)

    monkeypatch.setattr(Worker, "_hand_back", hand_back_in_time)
    started, go_on = threading.Event(), threading.Event()

    @bench.registry.register("deaf")
    def deaf(ctx: JobContext, args: dict[str, Any]) -> str:
        started.set()
        go_on.wait(300)
        return "late"

    try:
        with capture_logs() as logs:
            async with bench.working(drain_grace_s=0.05):
                job_id = await bench.enqueue("deaf", lock_key="l")

                async def has_started() -> bool:
                    return started.is_set()

                await until(has_started)
    finally:
        go_on.set()
    assert [line["job_id"] for line in logs if line["event"] == "worker.drain.abandoned"] == [str(job_id)]
    job = await bench.job(job_id)
    assert (job.status, job.attempt, job.result) == ("queued", 0, None)
    assert await bench.kinds(job_id) == ["queued", "picked", "returned"]
    assert await bench.value("SELECT count(*) FROM dl_job_locks") == 0


async def test_progress_reported_while_the_last_one_is_written_is_not_forgotten(bench: Bench) -> None:
    second, go_on = asyncio.Event(), asyncio.Event()

    @bench.registry.register("steps")
    async def steps(ctx: JobContext, args: dict[str, Any]) -> None:
        ctx.report(Progress(1))
        await second.wait()
        ctx.report(Progress(2))
        await go_on.wait()

    async def is_writing() -> bool:
        return bool(await bench.value(_WAITS, "%SET progress%"))

    job_id = await bench.enqueue("steps")
    async with bench.working(heartbeat_s=0.2):

        async def is_running() -> bool:
            return bool((await bench.job(job_id)).status == "running")

        await until(is_running)
        async with bench.db.dedicated_connection() as locking, locking.transaction():
            await locking.execute("LOCK TABLE dl_jobs IN SHARE MODE")
            if (await bench.job(job_id)).progress is None:
                await until(is_writing)
            second.set()
            await asyncio.sleep(0)

        async def is_shown() -> bool:
            return bool((await bench.job(job_id)).progress == {"processed": 2, "total": None})

        await until(is_shown)
        go_on.set()
        assert await bench.ended(job_id) == ["succeeded"]


@pytest.mark.parametrize(("bound", "reported"), [(1, ["a", "b", "a"]), (1000, ["a", "b"])])
async def test_memory_of_held_keys_is_bounded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, bound: int, reported: list[str]
) -> None:
    monkeypatch.setattr("classifeed_jobs.worker.fetcher._SAMPLED_KEYS", bound)
    release = asyncio.Event()

    @bench.registry.register("wait")
    async def wait(ctx: JobContext, args: dict[str, Any]) -> None:
        await release.wait()

    async def is_blocked(job_id: Any) -> bool:
        sql = "SELECT waits_for IS NOT DISTINCT FROM 'key' OR status = 'running' FROM dl_jobs WHERE job_id = %s"
        return bool(await bench.value(sql, job_id))

    with capture_logs() as logs:
        async with bench.working():
            ids = []
            for key in ("a", "a", "b", "b", "a"):
                ids.append(await bench.enqueue("wait", lock_key=key))
                await until(lambda: is_blocked(ids[-1]))
            release.set()
            await bench.ended(*ids)
    assert [line["lock_key"] for line in logs if line["event"] == "worker.claim.backoff"][:3] == reported


async def test_reaper_gives_back_more_than_one_slice_at_one_poll(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifeed_jobs.maintenance.reaper._BATCH", 3)
    monkeypatch.setattr("classifeed_jobs.maintenance.reaper._SHORTEST_WAIT_S", 3600.0)
    ids = [await bench.enqueue(lease_ttl_s=1, max_attempts=1) for _ in range(8)]
    async with bench.db.connection() as connection:
        await ProcessLease("w1", ["q"]).register(connection)
        await claim_jobs(connection, worker_id="w1", queue="q", wanted=8, fresh_s=60)
    await bench.execute("UPDATE dl_workers SET renewed_at = clock_timestamp() - interval '1 hour'")
    async with running(Reaper(bench.db, reaper_period_s=3600.0, retention=None)):
        assert await bench.ended(*ids) == ["failed"] * 8


async def test_requests_that_are_none_or_have_one_key_twice(bench: Bench) -> None:
    twice = [JobRequest("q", "noop", idempotency_key="k"), JobRequest("q", "other", idempotency_key="k")]
    async with bench.db.transaction() as tx:
        assert await bench.store.enqueue_many(tx, []) == []
        with pytest.raises(ValueError, match="send each key once"):
            await bench.store.enqueue_many(tx, twice)
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 0


async def test_retry_in_a_notifiers_transaction_wakes_after_it(bench: Bench) -> None:
    notifier = Notifier(bench.db)
    store = JobStore(notifier=notifier)
    job_id = await bench.enqueue()
    async with bench.db.connection() as connection:
        await ProcessLease("w1", ["q"]).register(connection)
        (claim,) = (await claim_jobs(connection, worker_id="w1", queue="q", wanted=1, fresh_s=60)).claims
    async with bench.db.transaction() as tx:
        await complete_claims(tx, [Completion(job_id, claim.claim_no, "failed")])
    async with bench.db.dedicated_connection() as listener:
        await listener.execute("LISTEN dl_jobs")
        async with notifier.transaction() as tx:
            assert await store.retry(tx, job_id, by="anna")
        await notifier.settled()
        heard = [notification.payload async for notification in listener.notifies(timeout=60, stop_after=1)]
    assert heard == ["q"]


async def test_backlog_of_a_worker_of_some_queues_and_of_all(bench: Bench) -> None:
    for queue in ("q", "q", "other"):
        await bench.enqueue(queue=queue)
    due = await bench.value("SELECT now() + interval '1 hour'")
    await bench.enqueue(available_at=due)
    assert await bench.worker().backlog() == {"q": 3}
    async with bench.db.transaction() as tx:
        assert await bench.store.backlog(tx, ["other", "idle"]) == {"other": 1, "idle": 0}
        assert await bench.store.backlog(tx) == {"q": 3, "other": 1}


@pytest.mark.parametrize("queues", [{}, {"q": 0}])
async def test_worker_without_a_queue_or_a_slot_is_refused(bench: Bench, queues: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="queues with a concurrency of 1 or more"):
        Worker(bench.db, bench.store, bench.registry, queues=queues)
