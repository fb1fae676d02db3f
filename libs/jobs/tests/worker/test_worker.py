"""The life of a job in one worker process, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import propagate, trace
from pydantic import BaseModel

from classifeed_devkit.testing.background import running
from classifeed_jobs import Fail, Fixed, JobContext, Progress, Registry, Retry, Snooze, Worker
from classifeed_jobs.claim.fetch import claim_jobs

from ..conftest import Bench, until


class AddArgs(BaseModel):
    left: int
    right: int = 0


async def test_coroutine_generator_and_function_succeed(bench: Bench) -> None:
    threads: list[str] = []

    @bench.registry.register("add")
    async def add(ctx: JobContext, args: AddArgs) -> int:
        return args.left + args.right

    @bench.registry.register("steps")
    async def steps(ctx: JobContext, args: dict[str, Any]) -> AsyncIterator[Progress]:
        for done in range(3):
            yield Progress(processed=done, total=3)

    @bench.registry.register("thread")
    def in_thread(ctx: JobContext, args: dict[str, Any]) -> str:
        threads.append(threading.current_thread().name)

        async def write() -> None:
            async with ctx.db.transaction() as tx:
                await ctx.guard(tx)

        ctx.call(write())
        return str(args["word"])

    async with bench.working():
        ids = [
            await bench.enqueue("add", {"left": 2, "right": 3}),
            await bench.enqueue("steps"),
            await bench.enqueue("thread", {"word": "слово"}),
        ]
        assert await bench.ended(*ids) == ["succeeded"] * 3
    jobs = [await bench.job(job_id) for job_id in ids]
    assert [job.result for job in jobs] == [5, None, "слово"]
    assert threads[0].startswith("job")
    assert all(job.attempt == 1 and job.claim_no == 1 and job.started_at and job.finished_at for job in jobs)
    assert all(job.lease_expires_at is None and job.error is None for job in jobs)
    assert await bench.kinds(ids[0]) == ["queued", "picked", "succeeded"]
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 0


async def test_job_exists_if_and_only_if_the_callers_transaction_commits(bench: Bench) -> None:
    try:
        async with bench.db.transaction() as tx:
            await bench.store.enqueue(tx, "q", "noop", {}, idempotency_key="k")
            raise LookupError
    except LookupError:
        pass
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 0
    async with bench.db.transaction() as tx:
        assert (await bench.store.enqueue(tx, "q", "noop", {}, idempotency_key="k")).created


async def test_idempotency_key_gives_the_first_job_and_names_what_differs(bench: Bench) -> None:
    async with bench.db.transaction() as tx:
        first = await bench.store.enqueue(tx, "q", "noop", {"a": 1}, idempotency_key="k", lock_key="l")
    async with bench.db.transaction() as tx:
        again = await bench.store.enqueue(tx, "q", "noop", {"a": 1}, idempotency_key="k", lock_key="l")
        other = await bench.store.enqueue(tx, "q", "else", {"a": 2}, idempotency_key="k", lock_key="l")
    assert first.created
    assert (again.job_id, again.created, again.differs) == (first.job_id, False, ())
    assert (other.job_id, other.created, other.differs) == (first.job_id, False, ("task", "args"))
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 1
    await bench.execute("UPDATE dl_job_keys SET expires_at = clock_timestamp()")
    async with bench.db.transaction() as tx:
        assert (await bench.store.enqueue(tx, "q", "noop", {"a": 1}, idempotency_key="k")).created


async def test_concurrent_enqueues_of_one_key_make_one_job(bench: Bench) -> None:
    async def enqueue() -> Any:
        async with bench.db.transaction() as tx:
            return await bench.store.enqueue(tx, "q", "noop", {}, idempotency_key="k")

    responses = await asyncio.gather(*(enqueue() for _ in range(12)))
    assert sum(response.created for response in responses) == 1
    assert len({response.job_id for response in responses}) == 1


async def test_failing_job_is_retried_until_its_attempts_are_used_up(bench: Bench) -> None:
    @bench.registry.register("bad", backoff=Fixed(0.05))
    async def bad(ctx: JobContext, args: dict[str, Any]) -> None:
        raise ValueError(f"attempt {ctx.attempt}\0")

    async with bench.working():
        job_id = await bench.enqueue("bad", max_attempts=3)
        assert await bench.ended(job_id) == ["failed"]
    job = await bench.job(job_id)
    assert job.attempt == 3
    assert job.error == "ValueError: attempt 3\ufffd"
    assert (await bench.kinds(job_id)) == ["queued", "picked", "retry", "picked", "retry", "picked", "failed"]


async def test_signals_retry_snooze_fail(bench: Bench) -> None:
    runs: dict[str, int] = {"again": 0, "later": 0}

    @bench.registry.register("again", backoff=Fixed(3600))
    async def again(ctx: JobContext, args: dict[str, Any]) -> None:
        runs["again"] += 1
        if runs["again"] < 4:
            raise Retry(after_s=0.01)

    @bench.registry.register("later")
    async def later(ctx: JobContext, args: dict[str, Any]) -> None:
        runs["later"] += 1
        if runs["later"] < 3:
            raise Snooze(for_s=0.01)

    @bench.registry.register("never")
    async def never(ctx: JobContext, args: dict[str, Any]) -> None:
        raise Fail("no such seller")

    async with bench.working():
        ids = [
            await bench.enqueue("again", max_attempts=None),
            await bench.enqueue("later", max_attempts=1),
            await bench.enqueue("never", max_attempts=None),
        ]
        assert await bench.ended(*ids) == ["succeeded", "succeeded", "failed"]
    jobs = [await bench.job(job_id) for job_id in ids]
    assert [job.attempt for job in jobs] == [4, 1, 1]
    assert [job.claim_no for job in jobs] == [4, 3, 1]
    assert [job.error for job in jobs] == [None, None, "no such seller"]


async def test_unknown_task_and_wrong_args_fail_in_words_when_attempts_are_used_up(bench: Bench) -> None:
    @bench.registry.register("add", backoff=Fixed(0.01))
    async def add(ctx: JobContext, args: AddArgs) -> int:
        return args.left

    async with bench.working():
        unknown = await bench.enqueue("ad", max_attempts=1)
        wrong = await bench.enqueue("add", {"left": "many"}, max_attempts=2)
        assert await bench.ended(unknown, wrong) == ["failed"] * 2
    assert "no task 'ad' is registered" in ((await bench.job(unknown)).error or "")
    assert "it knows add" in ((await bench.job(unknown)).error or "")
    assert "left: Input should be a valid integer" in ((await bench.job(wrong)).error or "")
    assert (await bench.job(wrong)).attempt == 2


async def test_old_worker_does_not_end_the_jobs_of_a_new_version(bench: Bench) -> None:
    """A worker that does not know the task or the args claims the jobs first; a worker of the new version runs them."""
    old, new = Registry(), bench.registry

    @old.register("add")
    async def add(ctx: JobContext, args: AddArgs) -> int:
        raise AssertionError

    @new.register("add")
    async def add_all(ctx: JobContext, args: dict[str, Any]) -> int:
        return sum(args["numbers"])

    @new.register("subtract")
    async def subtract(ctx: JobContext, args: dict[str, Any]) -> int:
        return 1

    ids = [await bench.enqueue("subtract"), await bench.enqueue("add", {"numbers": [1, 2]})]
    async with running(Worker(bench.db, bench.store, old, queues={"q": 2})):

        async def were_tried() -> bool:
            jobs = [await bench.job(job_id) for job_id in ids]
            return all(job.error is not None and job.claimed_by is None for job in jobs)

        await until(were_tried)
    jobs = [await bench.job(job_id) for job_id in ids]
    assert [(job.status, job.attempt) for job in jobs] == [("queued", 1)] * 2
    assert "'subtract'" in str(jobs[0].error)
    assert "'add'" in str(jobs[1].error)
    waits_s = await bench.execute("SELECT extract(epoch FROM available_at - now()) > 20 FROM dl_jobs")
    assert waits_s == [(True,), (True,)]
    async with bench.working():
        async with bench.db.transaction() as tx:
            await bench.store.make_due(tx, ids)
        assert await bench.ended(*ids) == ["succeeded"] * 2
    assert [(await bench.job(job_id)).result for job_id in ids] == [1, 3]


async def test_result_that_cannot_be_stored_fails_in_words(bench: Bench) -> None:
    @bench.registry.register("odd")
    async def irregular(ctx: JobContext, args: dict[str, Any]) -> Any:
        return "\0" if args["nul"] else object()

    async with bench.working():
        ids = [await bench.enqueue("odd", {"nul": nul}) for nul in (True, False)]
        assert await bench.ended(*ids) == ["failed"] * 2
    assert "NUL" in ((await bench.job(ids[0])).error or "")
    assert "not JSON serializable" in ((await bench.job(ids[1])).error or "")


async def test_run_that_hangs_is_bounded_by_its_run_time(bench: Bench) -> None:
    @bench.registry.register("hang", max_run_s=0.05)
    async def hang(ctx: JobContext, args: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    async with bench.working():
        job_id = await bench.enqueue("hang", max_attempts=1)
        assert await bench.ended(job_id) == ["failed"]
    assert "ran longer than 0.05 s" in ((await bench.job(job_id)).error or "")


async def test_delayed_job_starts_when_it_is_due_not_at_the_next_poll(bench: Bench) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    async with bench.working(claim_backoff_s=3600.0):
        first = await bench.enqueue()
        await bench.ended(first)
        due = datetime.now(UTC) + timedelta(seconds=0.7)
        job_id = await bench.enqueue(available_at=due)
        assert await bench.ended(job_id) == ["succeeded"]
    started_at = (await bench.job(job_id)).started_at
    assert started_at is not None
    assert started_at >= due


async def test_jobs_run_by_priority_then_age(bench: Bench) -> None:
    order: list[int] = []

    @bench.registry.register("note")
    async def note(ctx: JobContext, args: dict[str, Any]) -> None:
        order.append(args["n"])

    ids = [await bench.enqueue("note", {"n": n}, priority=priority) for n, priority in enumerate((100, 5, 100, 1))]
    async with bench.working(concurrency=1):
        await bench.ended(*ids)
    assert order == [3, 1, 0, 2]


async def test_cancel_of_queued_running_and_ended_jobs(bench: Bench) -> None:
    started = asyncio.Event()

    @bench.registry.register("wait")
    async def wait(ctx: JobContext, args: dict[str, Any]) -> None:
        started.set()
        await asyncio.Event().wait()

    async def cancel(job_id: Any) -> Any:
        async with bench.db.transaction() as tx:
            return await bench.store.cancel(tx, job_id, reason="asked")

    queued = await bench.enqueue("wait", queue="nobody")
    assert (await cancel(queued)).status == "canceled"
    assert (await cancel(queued)).status == "canceled"
    assert await bench.kinds(queued) == ["queued", "canceled"]
    async with bench.working(heartbeat_s=3600.0):
        running = await bench.enqueue("wait", lease_ttl_s=86400)
        await started.wait()
        response = await cancel(running)
        assert (response.status, response.cancel_requested) == ("running", True)
        assert await bench.ended(running) == ["canceled"]
    assert await bench.kinds(running) == ["queued", "picked", "cancel_requested", "canceled"]


async def test_cancelled_generator_ends_at_its_next_yield_and_cleans_up(bench: Bench) -> None:
    seen: list[str] = []

    @bench.registry.register("steps")
    async def steps(ctx: JobContext, args: dict[str, Any]) -> AsyncIterator[Progress]:
        try:
            yield Progress(1)
            seen.append("first")
            while not ctx.is_stopping:
                await asyncio.sleep(0.01)
            seen.append("up to the safe point")
            yield Progress(2)
            seen.append("too far")
        finally:
            seen.append("cleaned")

    async with bench.working():
        job_id = await bench.enqueue("steps")

        async def has_begun() -> bool:
            return bool(seen)

        await until(has_begun)
        async with bench.db.transaction() as tx:
            await bench.store.cancel(tx, job_id)
        assert await bench.ended(job_id) == ["canceled"]
    assert seen == ["first", "up to the safe point", "cleaned"]


async def test_claim_whose_answer_was_lost_is_handed_back_and_run(bench: Bench) -> None:
    runs: list[int] = []

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        runs.append(ctx.claim_no)

    async with bench.working(heartbeat_s=0.2) as worker:
        warm = await bench.enqueue()
        await bench.ended(warm)
        async with bench.db.transaction() as tx:
            job_id = (await bench.store.enqueue(tx, "q", "noop", {})).job_id
            # The same as the worker does, but without its knowledge.
            response = await claim_jobs(tx, worker_id=worker.worker_id, queue="q", wanted=1, fresh_s=3600)
        assert [claim.job_id for claim in response.claims] == [job_id]
        assert await bench.ended(job_id) == ["succeeded"]
    assert runs == [1, 2]
    assert (await bench.job(job_id)).attempt == 1


async def test_drain_hands_back_without_using_the_attempt(bench: Bench) -> None:
    started = asyncio.Event()

    @bench.registry.register("long")
    async def long(ctx: JobContext, args: dict[str, Any]) -> None:
        started.set()
        await asyncio.Event().wait()

    async with bench.working(drain_grace_s=0.1) as worker:
        job_id = await bench.enqueue("long", lock_key="l")
        await started.wait()
    job = await bench.job(job_id)
    assert (job.status, job.attempt, job.claim_no, job.claimed_by) == ("queued", 0, 1, None)
    assert await bench.kinds(job_id) == ["queued", "picked", "returned"]
    assert await bench.value("SELECT count(*) FROM dl_job_locks") == 0
    assert await bench.value("SELECT count(*) FROM dl_workers WHERE worker_id = %s", worker.worker_id) == 0


async def test_drain_lets_a_run_end_but_stops_one_that_resumes_at_once(bench: Bench) -> None:
    go_on = asyncio.Event()
    started: set[str] = set()

    @bench.registry.register("ends")
    async def ends(ctx: JobContext, args: dict[str, Any]) -> None:
        started.add("ends")
        await go_on.wait()

    @bench.registry.register("resumes", resumes=True)
    async def resumes(ctx: JobContext, args: dict[str, Any]) -> None:
        started.add("resumes")
        try:
            await asyncio.Event().wait()
        finally:
            go_on.set()

    async with bench.working(drain_grace_s=20.0):
        completion, resuming = await bench.enqueue("ends"), await bench.enqueue("resumes")

        async def both() -> bool:
            return len(started) == 2

        await until(both)
    assert (await bench.job(completion)).status == "succeeded"
    assert (await bench.job(resuming)).status == "queued"


async def test_many_waiting_runs_pin_no_connection(bench: Bench) -> None:
    release = asyncio.Event()
    waiting = 0

    @bench.registry.register("wait")
    async def wait(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal waiting
        async with ctx.db.transaction() as tx:
            await ctx.guard(tx)
        waiting += 1
        await release.wait()

    ids = [await bench.enqueue("wait", lock_key=f"seller-{n}") for n in range(200)]

    async def all_wait() -> bool:
        return waiting == 200

    async with bench.working(concurrency=500):
        await until(all_wait)
        assert await bench.value("SELECT count(*) FROM dl_job_locks") == 200
        release.set()
        assert set(await bench.ended(*ids)) == {"succeeded"}


async def test_progress_and_checkpoint_are_kept_over_a_retry(bench: Bench) -> None:
    @bench.registry.register("steps", backoff=Fixed(0.01))
    async def steps(ctx: JobContext, args: dict[str, Any]) -> AsyncIterator[Progress]:
        if ctx.checkpoint is None:
            async with ctx.db.transaction() as tx:
                await ctx.save_checkpoint(tx, {"at": 7})
            yield Progress(processed=7, total=9, detail={"phase": "first"})
            while True:
                async with ctx.db.transaction() as tx:
                    row = await (
                        await tx.execute("SELECT progress FROM dl_jobs WHERE job_id = %s", [ctx.job_id])
                    ).fetchone()
                if row is not None and row[0] is not None:
                    raise RuntimeError("die")
                await asyncio.sleep(0.01)
        assert ctx.checkpoint == {"at": 7}

    async with bench.working(heartbeat_s=0.1):
        job_id = await bench.enqueue("steps")
        assert await bench.ended(job_id) == ["succeeded"]
    assert (await bench.job(job_id)).progress == {"processed": 7, "total": 9, "phase": "first"}


async def test_run_belongs_to_the_trace_of_its_producer(bench: Bench) -> None:
    seen: list[str] = []

    @bench.registry.register("coroutine")
    async def coroutine(ctx: JobContext, args: dict[str, Any]) -> None:
        seen.append(trace.format_trace_id(trace.get_current_span().get_span_context().trace_id))

    @bench.registry.register("thread")
    def thread(ctx: JobContext, args: dict[str, Any]) -> None:
        seen.append(trace.format_trace_id(trace.get_current_span().get_span_context().trace_id))

    trace_id = "0af7651916cd43dd8448eb211c80319c"
    producer = propagate.extract({"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"})
    token = otel_context.attach(producer)
    try:
        ids = [await bench.enqueue("coroutine"), await bench.enqueue("thread")]
    finally:
        otel_context.detach(token)
    async with bench.working():
        assert await bench.ended(*ids) == ["succeeded"] * 2
    assert seen == [trace_id] * 2


async def test_claim_given_twice_by_a_server_that_forgot_is_run_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A heartbeat between the loss and the second claim would find the first one lost.
    monkeypatch.setattr("classifeed_jobs.worker.heartbeat.Heartbeat.beat_soon", lambda _: None)
    runs = 0
    go_on = asyncio.Event()

    @bench.registry.register("wait")
    async def wait(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal runs
        runs += 1
        await go_on.wait()

    async with bench.working(concurrency=2, heartbeat_s=3600.0):
        job_id = await bench.enqueue("wait", lease_ttl_s=86400)

        async def picked() -> bool:
            return (await bench.kinds(job_id)).count("picked") == 1

        async def picked_twice() -> bool:
            return (await bench.kinds(job_id)).count("picked") == 2

        await until(picked)
        await bench.execute("UPDATE dl_jobs SET status = 'queued', claimed_by = NULL, claim_no = 0, attempt = 0")
        await until(picked_twice)
        after = await bench.enqueue("wait")
        go_on.set()
        assert await bench.ended(job_id, after) == ["succeeded"] * 2
    assert runs == 2
