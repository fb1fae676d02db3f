"""Failure hooks commit in the transaction that completes the job, in any process; unknown faults fail a job, too."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel
from structlog.testing import capture_logs

from classifeed_common.db import Tx
from classifeed_common.errors import Unavailable
from classifeed_devkit.testing.background import running
from classifeed_jobs import (
    Fail,
    FailedJob,
    Fixed,
    HookFailed,
    JobAdmin,
    JobContext,
    JobStore,
    Reaper,
    Retry,
    Snooze,
    Worker,
)
from classifeed_jobs.claim.fetch import claim_jobs
from classifeed_jobs.worker.process_lease import ProcessLease

from ..conftest import Bench, until


class OrderArgs(BaseModel):
    """Arguments of the jobs of this test."""

    order: int


class Orders:
    """Orders with a job each; the failure hook of the task completes them."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.broken_for: set[int] = set()
        self.heard: list[FailedJob] = []

    async def on_failed(self, tx: Tx, args: OrderArgs, job: FailedJob) -> None:
        self.heard.append(job)
        await tx.execute(
            "UPDATE orders SET state = %s WHERE number = %s", [f"{job.outcome} {job.reason}".strip(), args.order]
        )
        if args.order in self.broken_for:
            raise ZeroDivisionError("a fault of the hook's own")

    async def make(self, number: int, **options: Any) -> Any:
        async with self.bench.db.transaction() as tx:
            await tx.execute("INSERT INTO orders VALUES (%s, 'open')", [number])
            job = await self.bench.store.enqueue(tx, "q", "order", OrderArgs(order=number), **options)
        return job.job_id

    async def state(self, number: int) -> str:
        return str(await self.bench.value("SELECT state FROM orders WHERE number = %s", number))


@pytest.fixture
async def orders(bench: Bench) -> Orders:
    await bench.execute("CREATE TABLE orders (number int PRIMARY KEY, state text NOT NULL)")
    bench.store = JobStore(tasks=bench.registry)
    return Orders(bench)


def register(orders: Orders, handler: Any, **options: Any) -> None:
    async def order(ctx: JobContext, args: OrderArgs) -> None:
        await handler(ctx)

    order.__annotations__["args"] = OrderArgs
    defaults: dict[str, Any] = {"backoff": Fixed(0.01), "on_failed": orders.on_failed}
    orders.bench.registry.register("order", **(defaults | options))(order)


async def _fail(ctx: JobContext) -> None:
    raise Fail("there is no such thing")


async def _retry(ctx: JobContext) -> None:
    raise Retry


async def _succeed(ctx: JobContext) -> None: ...


async def _wait(ctx: JobContext) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("lock_key", [None, "k"])
@pytest.mark.parametrize(("handler", "state"), [(_fail, "failed"), (_retry, "failed"), (_succeed, "open")])
async def test_worker_calls_the_hook_of_what_ends_unfinished(
    orders: Orders, handler: Any, state: str, lock_key: str | None
) -> None:
    register(orders, handler)
    job_id = await orders.make(1, max_attempts=2, lock_key=lock_key)
    async with orders.bench.working():
        await orders.bench.ended(job_id)
    assert await orders.state(1) == state
    if state == "failed":
        (job,) = orders.heard
        assert (job.job_id, job.task, job.queue, job.reason, job.incident) == (job_id, "order", "q", "", "")
        assert job.message in {"there is no such thing", "the handler requested another attempt"}


async def test_operator_cancels_what_runs_and_what_waits(orders: Orders) -> None:
    register(orders, _wait)
    admin = JobAdmin(orders.bench.db, orders.bench.store)
    queued = await orders.make(1)
    await admin.cancel(queued, by="anna", reason="no longer wanted")
    assert (await orders.state(1), (await orders.bench.job(queued)).status) == ("canceled", "canceled")
    assert orders.heard[-1].message == "no longer wanted"
    running_job = await orders.make(2)

    async def is_running() -> bool:
        return (await orders.bench.job(running_job)).status == "running"

    async with orders.bench.working(heartbeat_s=0.1):
        await until(is_running)
        await admin.cancel(running_job, by="anna")
        assert await orders.bench.ended(running_job) == ["canceled"]
    assert await orders.state(2) == "canceled"


async def lose(bench: Bench, *, hook_tasks: tuple[str, ...] = (), silent: str = "10 minutes") -> None:
    async with bench.db.connection() as connection:
        await ProcessLease("w1", ["q"], hook_tasks).register(connection)
        assert (await claim_jobs(connection, worker_id="w1", queue="q", wanted=9, fresh_s=60)).claims
        await connection.execute(f"UPDATE dl_workers SET renewed_at = clock_timestamp() - interval '{silent}'")


async def test_reaper_calls_it_for_what_it_ends_and_not_for_what_it_gives_back(orders: Orders) -> None:
    register(orders, _succeed)
    bench = orders.bench
    attempts, deaths, canceled, again = (
        await orders.make(1, max_attempts=1),
        await orders.make(2, max_attempts=None, max_worker_deaths=1),
        await orders.make(3),
        await orders.make(4),
    )
    await lose(bench)
    async with bench.db.transaction() as tx:
        await bench.store.cancel(tx, canceled)
    outcomes = {one.job_id: one.outcome for one in await Reaper(bench.db, bench.registry).reap()}
    assert outcomes == {attempts: "failed", deaths: "failed", canceled: "canceled", again: "lost"}
    assert [await orders.state(n) for n in (1, 2, 3, 4)] == ["failed", "failed QUARANTINED", "canceled", "open"]
    assert (await bench.job(deaths)).reason == "QUARANTINED"


async def test_reaper_that_does_not_know_the_task_leaves_the_end_to_one_that_does(orders: Orders) -> None:
    register(orders, _succeed)
    bench = orders.bench
    quarantined = await orders.make(1, max_attempts=None, max_worker_deaths=1)
    again = await orders.make(2, max_attempts=None)
    await lose(bench, hook_tasks=("order",))
    assert [one.job_id for one in await Reaper(bench.db).reap()] == [again]
    assert await Reaper(bench.db).backlog() == {"lost_jobs": 1}
    assert (await bench.job(quarantined)).status == "running"
    assert [one.job_id for one in await Reaper(bench.db, bench.registry).reap()] == [quarantined]
    assert await orders.state(1) == "failed QUARANTINED"


async def test_job_whose_hook_nobody_knows_any_more_ends_after_an_hour(orders: Orders) -> None:
    register(orders, _succeed)
    job_id = await orders.make(1, max_attempts=1)
    await lose(orders.bench, hook_tasks=("order",), silent="61 minutes")
    assert [one.outcome for one in await Reaper(orders.bench.db).reap()] == ["failed"]
    assert (await orders.bench.job(job_id)).status == "failed"
    assert await orders.state(1) == "open"


async def test_worker_says_which_of_its_tasks_have_a_hook(orders: Orders) -> None:
    register(orders, _succeed)

    @orders.bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    async with orders.bench.working():
        await orders.bench.ended(await orders.bench.enqueue("noop"))
        assert await orders.bench.value("SELECT hook_tasks FROM dl_workers") == ["order"]


async def test_hook_that_fails_keeps_its_job_and_no_other(orders: Orders) -> None:
    register(orders, _fail)
    orders.broken_for.add(1)
    jobs = [await orders.make(n) for n in (1, 2, 3)]
    async with orders.bench.working():
        assert await orders.bench.ended(*jobs[1:]) == ["failed", "failed"]

        async def is_kept() -> bool:
            return "snoozed" in await orders.bench.kinds(jobs[0])

        await until(is_kept)
    kept = await orders.bench.job(jobs[0])
    assert kept.status == "queued"
    assert "the on_failed hook of task 'order' failed" in (kept.error or "")
    assert "there is no such thing" in (kept.error or "")
    assert [await orders.state(n) for n in (1, 2, 3)] == ["open", "failed", "failed"]
    orders.broken_for.clear()
    await orders.bench.execute("UPDATE dl_jobs SET available_at = clock_timestamp()")
    async with orders.bench.working():
        assert await orders.bench.ended(jobs[0]) == ["failed"]
    assert await orders.state(1) == "failed"


async def test_hook_that_fails_keeps_a_canceled_job_too(orders: Orders) -> None:
    register(orders, _wait)
    orders.broken_for.add(1)
    job_id = await orders.make(1)
    admin = JobAdmin(orders.bench.db, orders.bench.store)
    with pytest.raises(HookFailed):
        await admin.cancel(job_id, by="anna")
    assert (await orders.bench.job(job_id)).status == "queued"

    async def is_running() -> bool:
        return (await orders.bench.job(job_id)).status == "running"

    async def is_kept() -> bool:
        return "snoozed" in await orders.bench.kinds(job_id)

    async with orders.bench.working(heartbeat_s=0.1):
        await until(is_running)
        await admin.cancel(job_id, by="anna")
        await until(is_kept)
    assert await orders.state(1) == "open"


async def test_hook_that_fails_in_the_reaper_keeps_its_job_and_no_other(orders: Orders) -> None:
    register(orders, _succeed)
    orders.broken_for.add(2)
    jobs = [await orders.make(n, max_attempts=1) for n in (1, 2, 3)]
    await lose(orders.bench)
    reaped = {one.job_id for one in await Reaper(orders.bench.db, orders.bench.registry).reap()}
    assert reaped == {jobs[0], jobs[2]}
    assert (await orders.bench.job(jobs[1])).status == "running"
    orders.broken_for.clear()
    assert len(await Reaper(orders.bench.db, orders.bench.registry).reap()) == 1


async def test_passing_fault_of_the_hook_is_retried(orders: Orders) -> None:
    calls = 0

    async def on_failed(tx: Tx, args: OrderArgs, job: FailedJob) -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise psycopg.errors.DeadlockDetected("two of us")
        await orders.on_failed(tx, args, job)

    register(orders, _fail, on_failed=on_failed)
    job_id = await orders.make(1)
    async with orders.bench.working():
        assert await orders.bench.ended(job_id) == ["failed"]
    assert (calls, await orders.state(1)) == (3, "failed")


async def test_job_whose_args_do_not_fit_ends_without_its_hook(orders: Orders) -> None:
    register(orders, _succeed)
    job_id = await orders.bench.enqueue("order", {"order": "no number"})
    async with orders.bench.working():
        assert await orders.bench.ended(job_id) == ["failed"]
    assert orders.heard == []


def test_worker_wants_a_store_that_knows_its_hooks(orders: Orders) -> None:
    register(orders, _succeed)
    with pytest.raises(ValueError, match=r"given the tasks too, for the hooks of \['order'\]"):
        Worker(orders.bench.db, JobStore(), orders.bench.registry, queues={"q": 1})


async def test_fault_that_nobody_foresaw_ends_a_job_without_attempt_limit_at_the_fifth(orders: Orders) -> None:
    async def fault(ctx: JobContext) -> None:
        raise OverflowError("can't convert\0 negative int to unsigned")

    register(orders, fault, max_unknown_faults=5)
    with capture_logs() as logs:
        job_id = await orders.make(1, max_attempts=None)
        async with orders.bench.working():
            assert await orders.bench.ended(job_id) == ["failed"]
    job = await orders.bench.job(job_id)
    assert (job.reason, job.attempt, job.unknown_faults) == ("UNKNOWN_FAULTS", 5, 5)
    reported = [line for line in logs if line["event"] == "worker.run.unknown_fault"]
    assert len({line["incident"] for line in reported}) == 5
    assert all(line["exc_info"] and line["job_id"] == str(job_id) for line in reported)
    assert job.error is not None
    assert job.error.startswith(f"incident {reported[-1]['incident']}: OverflowError: can't convert")
    (heard,) = orders.heard
    assert (heard.reason, heard.incident) == ("UNKNOWN_FAULTS", reported[-1]["incident"])
    assert await orders.state(1) == "failed UNKNOWN_FAULTS"


@pytest.mark.parametrize(
    "passing",
    [Unavailable("KAFKA_UNAVAILABLE", "away"), Retry(0.0), Snooze(0.0), ConnectionResetError(), TimeoutError()],
)
async def test_faults_that_pass_are_not_counted(orders: Orders, passing: Exception) -> None:
    tries = 0

    async def handler(ctx: JobContext) -> None:
        nonlocal tries
        tries += 1
        if tries <= 8:
            raise passing

    register(orders, handler, max_unknown_faults=1)
    job_id = await orders.make(1, max_attempts=None)
    async with orders.bench.working():
        assert await orders.bench.ended(job_id) == ["succeeded"]
    assert (tries, (await orders.bench.job(job_id)).unknown_faults) == (9, 0)


async def test_faults_count_only_since_the_job_came_further(orders: Orders) -> None:
    async def handler(ctx: JobContext) -> None:
        async with ctx.db.transaction() as tx:
            await ctx.save_checkpoint(tx, (ctx.checkpoint or 0) + 1)
        if ctx.checkpoint < 6:
            raise ValueError(f"at step {ctx.checkpoint}")

    register(orders, handler, max_unknown_faults=2)
    job_id = await orders.make(1, max_attempts=None)
    async with orders.bench.working():
        assert await orders.bench.ended(job_id) == ["succeeded"]


async def test_without_a_bound_unknown_faults_are_retried_for_ever(orders: Orders) -> None:
    tries = 0

    async def handler(ctx: JobContext) -> None:
        nonlocal tries
        tries += 1
        if tries <= 8:
            raise ValueError

    register(orders, handler)
    job_id = await orders.make(1, max_attempts=None)
    async with orders.bench.working():
        assert await orders.bench.ended(job_id) == ["succeeded"]


async def test_attempts_may_end_it_before(orders: Orders) -> None:
    async def handler(ctx: JobContext) -> None:
        raise ValueError

    register(orders, handler, max_unknown_faults=5)
    job_id = await orders.make(1, max_attempts=2)
    async with orders.bench.working():
        assert await orders.bench.ended(job_id) == ["failed"]
    assert ((await orders.bench.job(job_id)).reason, await orders.state(1)) == (None, "failed")


async def test_roles_together_end_a_lost_job_with_its_hook(orders: Orders) -> None:
    register(orders, _succeed)
    job_id = await orders.make(1, max_attempts=1)
    await lose(orders.bench)
    async with running(Reaper(orders.bench.db, orders.bench.registry, reaper_period_s=0.2)):
        assert await orders.bench.ended(job_id) == ["failed"]
    assert await orders.state(1) == "failed"
