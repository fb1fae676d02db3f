"""Operations of operators: triggers, lists, cancellations and retries, with their callers."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from classifeed_common.errors import FailedPrecondition, NotFound
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_jobs import AuditEntry, Fail, JobAdmin, JobContext, JobFilter, JobRequest, QueueLimits
from classifeed_jobs.claim.claim import Claim, Completion
from classifeed_jobs.claim.fetch import claim_jobs
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.worker.process_lease import ProcessLease

from ..conftest import Bench, until


class Operated:
    """A bench with a JobAdmin."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.audit: list[AuditEntry] = []
        self.admin = JobAdmin(bench.db, bench.store, audit=self.audit.append)

    @property
    def actions(self) -> list[tuple[str, str]]:
        return [(entry.action, entry.by) for entry in self.audit]

    async def claim(self, wanted: int = 1) -> list[Claim]:
        async with self.bench.db.connection() as connection:
            await ProcessLease("w1", ["q"]).register(connection)
            return (await claim_jobs(connection, worker_id="w1", queue="q", wanted=wanted, fresh_s=60)).claims

    async def end(self, *claims: Claim, outcome: str, message: str | None = None) -> None:
        async with self.bench.db.transaction() as tx:
            await complete_claims(tx, [Completion(claim.job_id, claim.claim_no, outcome, message) for claim in claims])


@pytest.fixture
def operated(bench: Bench) -> Operated:
    return Operated(bench)


async def test_trigger_returns_the_job_of_a_taken_key_its_status_and_what_differs(operated: Operated) -> None:
    request = JobRequest("q", "noop", {"a": 1}, idempotency_key="k", lock_key="l")
    (first,) = await operated.admin.trigger([request], by="anna")
    assert (first.created, first.status, first.differs) == (True, "queued", ())
    await operated.claim()
    other = JobRequest("q2", "noop", {"a": 2}, idempotency_key="k", lock_key="l")
    (again,) = await operated.admin.trigger([other], by="boris")
    assert (again.job_id, again.created, again.status) == (first.job_id, False, "running")
    assert again.differs == ("queue", "args")
    await operated.bench.execute("DELETE FROM dl_jobs")
    assert (await operated.admin.trigger([request], by="boris"))[0].status is None
    assert operated.actions == [("trigger", "anna")]
    events = await operated.bench.execute("SELECT payload FROM dl_job_events WHERE kind = 'queued'")
    assert events == [({"by": "anna"},)]


async def test_cancel_in_every_state_and_of_nothing(operated: Operated) -> None:
    bench, admin = operated.bench, operated.admin
    queued = await bench.enqueue(queue="nobody")
    assert (await admin.cancel(queued, by="anna", reason="wrong file")).status == "canceled"
    (event,) = [one for one in await admin.list_events(queued) if one.kind == "canceled"]
    assert event.payload == {"by": "anna", "reason": "wrong file"}
    running = await bench.enqueue()
    (claim,) = await operated.claim()
    job = await admin.cancel(running, by="anna")
    assert (job.status, job.cancel_requested) == ("running", True)
    await operated.end(claim, outcome="succeeded")
    assert (await admin.cancel(running, by="anna")).status == "succeeded"
    for call in (admin.cancel(uuid4(), by="anna"), admin.get(uuid4()), admin.retry(uuid4(), by="anna")):
        with pytest.raises(NotFound) as raised:
            await call
        assert raised.value.reason == "JOB_NOT_FOUND"
    assert operated.actions == [("cancel", "anna")] * 3


async def test_failed_job_is_tried_again_with_all_its_attempts_and_from_its_checkpoint(operated: Operated) -> None:
    bench = operated.bench
    seen: list[Any] = []

    @bench.registry.register("phases")
    async def phases(ctx: JobContext, args: dict[str, Any]) -> None:
        seen.append((ctx.checkpoint, ctx.attempt, ctx.claim_no))
        if ctx.checkpoint is None:
            async with ctx.db.transaction() as tx:
                await ctx.save_checkpoint(tx, "half")
            raise Fail("no disk")

    async with bench.working(claim_backoff_s=3600.0):
        job_id = await bench.enqueue("phases", idempotency_key="k")
        assert await bench.ended(job_id) == ["failed"]
        job = await operated.admin.retry(job_id, by="anna")
        assert (job.status, job.attempt, job.error) == ("queued", 0, "no disk")
        assert await bench.ended(job_id) == ["succeeded"]
    assert seen == [(None, 1, 1), ("half", 1, 2)]
    assert (await bench.job(job_id)).error is None
    assert await bench.kinds(job_id) == ["queued", "picked", "failed", "retry_requested", "picked", "succeeded"]
    with pytest.raises(FailedPrecondition) as raised:
        await operated.admin.retry(job_id, by="anna")
    assert raised.value.reason == "JOB_NOT_FAILED"


async def test_retry_requested_by_several_puts_the_job_back_once(operated: Operated) -> None:
    job_id = await operated.bench.enqueue()
    await operated.end(*await operated.claim(), outcome="failed")
    responses = await asyncio.gather(
        *(operated.admin.retry(job_id, by=f"o{n}") for n in range(6)), return_exceptions=True
    )
    assert sum(not isinstance(response, Exception) for response in responses) == 1
    assert await operated.bench.value("SELECT count(*) FROM dl_jobs_all WHERE job_id = %s", job_id) == 1


async def test_failed_jobs_are_retried_in_bulk_by_filter(operated: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifeed_jobs.admin.admin._SLICE", 7)
    bench = operated.bench
    async with bench.db.transaction() as tx:
        await bench.store.enqueue_many(
            tx, [JobRequest("q", "noop" if n % 2 else "other", producer=f"p{n % 4}") for n in range(60)]
        )
    claims = await operated.claim(60)
    await operated.end(*claims[:20], outcome="failed", message="TimeoutError: s3 away")
    await operated.end(*claims[20:50], outcome="failed", message="ValueError")
    await operated.end(*claims[50:], outcome="succeeded")
    assert await operated.admin.retry_failed(JobFilter(task="noop"), by="anna", error="TimeoutError") == 10
    assert await operated.admin.retry_failed(JobFilter(queue="q", producer="p0"), by="anna") == 13
    assert await operated.admin.retry_failed(JobFilter(queue="nothing"), by="anna") == 0
    assert await operated.admin.retry_failed(JobFilter(), by="anna") == 27
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 50
    assert operated.audit[0].detail == {"jobs": 10, "which": {"task": "noop", "error": "TimeoutError"}}
    assert len(await operated.claim(100)) == 50


async def test_bulk_retry_takes_what_failed_since_a_time_slice_by_slice(
    operated: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_jobs.admin.admin._SLICE", 7)
    bench = operated.bench
    early = [await bench.enqueue() for _ in range(3)]
    await operated.end(*await operated.claim(3), outcome="failed")
    since = await bench.value("SELECT clock_timestamp()")
    async with bench.db.transaction() as tx:
        responses = await bench.store.enqueue_many(tx, [JobRequest("q", "noop") for _ in range(20)])
    late = [response.job_id for response in responses]
    await operated.end(*await operated.claim(20), outcome="failed")
    assert await operated.admin.retry_failed(JobFilter(queue="q"), since=since, by="anna") == 20
    assert [(await bench.job(job_id)).status for job_id in early] == ["failed"] * 3
    message = "SELECT job_id, payload FROM dl_job_events WHERE kind = 'retry_requested' ORDER BY job_id"
    assert await bench.execute(message) == [(job_id, {"by": "anna"}) for job_id in sorted(late)]
    statements = "SELECT count(DISTINCT xmin::text) FROM dl_job_events WHERE kind = 'retry_requested'"
    assert await bench.value(statements) == 3, "one for 7, 7 and 6 jobs"
    assert operated.audit[-1].detail == {"jobs": 20, "which": {"queue": "q", "since": since.isoformat()}}


async def test_bulk_retry_keeps_idempotency_and_lock_keys(operated: Operated) -> None:
    bench = operated.bench
    ids = [await bench.enqueue(idempotency_key=f"i{n}", lock_key="bank") for n in range(3)]
    for _ in ids:
        await operated.end(*await operated.claim(), outcome="failed")
    holder = await bench.enqueue(lock_key="bank")
    (running,) = await operated.claim()
    assert running.job_id == holder
    assert await operated.admin.retry_failed(JobFilter(), by="anna") == 3
    async with bench.db.transaction() as tx:
        again = await bench.store.enqueue(tx, "q", "noop", {}, idempotency_key="i1", lock_key="bank")
    assert (again.job_id, again.created, again.status) == (ids[1], False, "queued")
    assert await operated.claim(10) == [], "their key is held"
    await operated.end(running, outcome="succeeded")
    seen = []
    for _ in ids:
        (claim,) = await operated.claim(10)
        seen.append((claim.job_id, claim.claim_no, claim.attempt))
        await operated.end(claim, outcome="succeeded")
    assert sorted(seen) == [(job_id, 2, 1) for job_id in sorted(ids)]


async def test_bulk_retry_that_breaks_off_reports_what_went_back(
    operated: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classifeed_jobs.admin.admin._SLICE", 2)
    bench = operated.bench
    for _ in range(5):
        await bench.enqueue()
    await operated.end(*await operated.claim(5), outcome="failed")
    retry = bench.store.retry_failed

    async def breaking(*arguments: Any, after: Any, **options: Any) -> Any:
        if after is not None:
            raise OSError("the database went away")
        return await retry(*arguments, after=after, **options)

    monkeypatch.setattr(bench.store, "retry_failed", breaking)
    with pytest.raises(OSError, match="went away"):
        await operated.admin.retry_failed(JobFilter(), by="anna")
    assert operated.audit[-1].detail == {"jobs": 2, "which": {}}
    monkeypatch.undo()
    assert await operated.admin.retry_failed(JobFilter(), by="anna") == 3


async def test_pages_go_over_live_and_done_jobs_by_every_filter(operated: Operated) -> None:
    bench = operated.bench
    async with bench.db.transaction() as tx:
        requests = [
            JobRequest(
                "q",
                f"t{n % 2}",
                lock_key=f"k{n % 3}",
                partition_key=f"p{n % 2}",
                producer="x",
                consumer_group=f"g{n % 5}",
            )
            for n in range(30)
        ]
        ids = [response.job_id for response in await bench.store.enqueue_many(tx, requests)]
    await bench.enqueue("t0", queue="other")
    await operated.end(*await operated.claim(3), outcome="failed")
    found = []
    after = None
    while True:
        page = await operated.admin.list_jobs(JobFilter(queue="q", producer="x"), after=after, limit=7)
        found += [job.job_id for job in page.jobs]
        assert len(page.jobs) <= 7
        if page.next_after is None:
            break
        after = page.next_after
    assert found == sorted(ids, reverse=True)
    count = {
        "failed": (JobFilter(), "failed", 3),
        "queued": (JobFilter(queue="q"), "queued", 27),
        "task": (JobFilter(queue="q", task="t1"), None, 15),
        "key": (JobFilter(lock_key="k2"), None, 10),
        "partition": (JobFilter(partition_key="p0"), None, 15),
        "group": (JobFilter(consumer_group="g4"), None, 6),
    }
    for name, (which, status, expected) in count.items():
        assert len((await operated.admin.list_jobs(which, status=status)).jobs) == expected, name


async def test_events_come_in_pages(operated: Operated) -> None:
    job_id = await operated.bench.enqueue()
    for _ in range(3):
        await operated.end(*await operated.claim(), outcome="retry")
    first = await operated.admin.list_events(job_id, limit=3)
    rest = await operated.admin.list_events(job_id, after=first[-1].event_id)
    assert [event.kind for event in first + rest] == ["queued"] + ["picked", "retry"] * 3


async def test_locks_workers_and_queues_are_shown(operated: Operated) -> None:
    job_id = await operated.bench.enqueue(lock_key="seller 7")
    await operated.claim()
    (lock,) = await operated.admin.list_locks()
    assert (lock.lock_key, lock.job_id, lock.worker_id, lock.waiting) == ("seller 7", job_id, "w1", 0)
    (worker,) = (await operated.admin.list_workers()).workers
    assert (worker.worker_id, worker.queues, worker.running) == ("w1", ["q"], 1)
    await operated.admin.pause_queue("q", by="anna")
    await operated.admin.set_limits("q", QueueLimits(max_running=2), by="anna")
    (stats,) = await operated.admin.queues()
    assert (stats.queue, stats.running, stats.paused_by, stats.limits.max_running) == ("q", 1, "anna", 2)
    await operated.admin.resume_queue("q", by="boris")
    assert (await operated.admin.queues())[0].paused_at is None
    assert operated.actions == [("pause", "anna"), ("set_limits", "anna"), ("resume", "boris")]


async def test_locks_come_in_pages_the_longest_held_first_with_who_waits(operated: Operated) -> None:
    bench = operated.bench
    for key in ("c", "a", "b"):
        await bench.enqueue(lock_key=key)
        await operated.claim()
    for key in ("b", "c", "b"):
        await bench.enqueue(lock_key=key)
    assert await operated.claim(10) == []
    first = await operated.admin.list_locks(limit=2)
    rest = await operated.admin.list_locks(after=first[-1], limit=2)
    assert [(lock.lock_key, lock.waiting) for lock in first + rest] == [("c", 1), ("a", 0), ("b", 2)]


async def test_failures_of_the_hour_stand_beside_the_rates_of_the_window(operated: Operated) -> None:
    bench = operated.bench
    for queue in ("q", "q", "q", "other"):
        await bench.enqueue(queue=queue)
    claims = await operated.claim(3)
    await operated.end(*claims[:2], outcome="failed")
    await operated.end(claims[2], outcome="succeeded")
    await bench.execute(
        "UPDATE dl_jobs_done SET finished_at = finished_at - interval '50 min' WHERE job_id = %s", claims[0].job_id
    )
    [stats] = await operated.admin.queues(queue="q", window_s=600)
    assert (round(stats.failed_per_s * 600), round(stats.succeeded_per_s * 600), stats.failed_last_hour) == (1, 1, 2)
    await bench.execute("UPDATE dl_jobs_done SET finished_at = finished_at - interval '15 min'")
    assert (await operated.admin.queue("q")).failed_last_hour == 1
    nothing = await operated.admin.queue("nothing")
    assert (nothing.queue, nothing.ready, nothing.oldest_s, nothing.limits) == ("nothing", 0, None, QueueLimits())
    assert [each.queue for each in await operated.admin.queues()] == ["other", "q"]


async def test_copy_puts_in_what_enqueue_would(operated: Operated) -> None:
    bench = operated.bench
    due = await bench.value("SELECT now() + interval '1 hour'")
    requests = [
        JobRequest("q", "noop", {"слово": "a\tb\\\n"}, lock_key="k", partition_key="p", priority=7, max_attempts=None),
        JobRequest("q", "noop", available_at=due, lease_ttl_s=5, producer="x", consumer_group="g"),
    ]
    async with bench.db.transaction() as tx:
        assert await bench.store.copy_many(tx, iter(requests)) == 2
        await bench.store.enqueue_many(tx, requests)
    columns = (
        "queue, task, args, lock_key, partition_key, priority, waits_for, max_attempts, lease_ttl_sec, producer, "
        "consumer_group, status, attempt, claim_no"
    )
    rows = await bench.execute(f"SELECT {columns} FROM dl_jobs ORDER BY priority, job_id")
    assert rows[:1] == rows[1:2]
    assert rows[2:3] == rows[3:]
    assert await bench.value("SELECT count(*) FROM dl_job_events WHERE kind = 'queued'") == 4
    assert await bench.value("SELECT count(*) FROM dl_jobs WHERE abs(extract(epoch FROM created_at - now())) > 60") == 0


@pytest.mark.slow
@in_campaigns
async def test_copy_of_many_wakes_the_worker_once_and_runs_each_job_once(operated: Operated) -> None:
    bench = operated.bench
    ran: list[int] = []

    @bench.registry.register("note")
    async def note(ctx: JobContext, args: dict[str, Any]) -> None:
        ran.append(args["n"])

    async with bench.db.dedicated_connection() as listener, bench.working(claim_backoff_s=3600.0):
        await listener.execute("LISTEN dl_jobs")
        async with bench.db.transaction() as tx:
            count = await bench.store.copy_many(tx, (JobRequest("q", "note", {"n": n}) for n in range(12_000)))
        assert count == 12_000

        async def all_ran() -> bool:
            return len(ran) == 12_000

        await until(all_ran, within_s=300)
        await bench.execute("SELECT pg_notify('dl_jobs', 'the last word')")
        heard = [notification.payload async for notification in listener.notifies(timeout=90, stop_after=2)]
    assert heard == ["q", "the last word"]
    assert sorted(ran) == list(range(12_000))


async def test_copy_refuses_idempotency_keys_and_leaves_the_next_enqueue_loud(operated: Operated) -> None:
    bench = operated.bench
    with pytest.raises(ValueError, match="use enqueue_many"):
        async with bench.db.transaction() as tx:
            await bench.store.copy_many(tx, [JobRequest("q", "noop", idempotency_key="k")])
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 0
    async with bench.db.dedicated_connection() as listener:
        await listener.execute("LISTEN dl_jobs")
        async with bench.db.transaction() as tx:
            await bench.store.copy_many(tx, [JobRequest("copied", "noop")])
            await bench.store.enqueue(tx, "enqueued", "noop", {})
        heard = {notification.payload async for notification in listener.notifies(timeout=60, stop_after=2)}
    assert heard == {"copied", "enqueued"}
