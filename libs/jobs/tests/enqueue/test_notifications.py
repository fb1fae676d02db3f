"""Prompt wakes, few notifications, and the log events for alerts."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

import pytest
from structlog.testing import capture_logs

from classifeed_jobs import JobContext, JobRequest, JobStore, Notifier, Reaper
from classifeed_jobs.claim.claim import Completion
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.worker.completions import Completions

from ..claimant import Claimant
from ..conftest import Bench, until


async def _heard(bench: Bench, listener: Any) -> list[str]:
    """Return the notifications so far: they arrive in the order of commits, so a last one marks the end."""
    await bench.execute("SELECT pg_notify('dl_jobs', 'the last word')")
    heard: list[str] = []
    async for notification in listener.notifies(timeout=90):
        if notification.payload == "the last word":
            return heard
        heard.append(notification.payload)
    raise AssertionError(f"the last word was not heard after {heard}")


async def test_idle_worker_starts_a_job_promptly(bench: Bench) -> None:
    """It starts at the notification, not at the next poll an hour later. The latency is not asserted."""

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    async with bench.working(claim_backoff_s=3600.0):
        await bench.ended(await bench.enqueue())
        for _ in range(15):
            assert await bench.ended(await bench.enqueue()) == ["succeeded"]


async def test_burst_of_commits_wakes_by_few_notifies_after_them(bench: Bench) -> None:
    notifier = Notifier(bench.db)
    store = JobStore(notifier=notifier)
    async with bench.db.dedicated_connection() as listener:
        await listener.execute("LISTEN dl_jobs")
        began = time.monotonic()
        for _ in range(60):
            async with notifier.transaction() as tx:
                await store.enqueue(tx, "q", "noop", {})
        await notifier.settled()
        took_s = time.monotonic() - began
        heard = await _heard(bench, listener)
        assert 1 <= len(heard) <= took_s / 0.005 + 2
        # The naive method: a notification in each transaction.
        for _ in range(5):
            async with bench.db.transaction() as tx:
                await store.enqueue(tx, "q", "noop", {})
        assert len(await _heard(bench, listener)) == 5


async def test_first_wake_leaves_at_once_and_those_just_after_it_as_one(bench: Bench) -> None:
    notifier = Notifier(bench.db)
    async with bench.db.dedicated_connection() as listener:
        await listener.execute("LISTEN dl_jobs")
        notifier.wake(["a"])
        for _ in range(100):
            notifier.wake(["a", "b"])
        await notifier.settled()
        assert sorted(await _heard(bench, listener)) in (["a", "b"], ["a", "a", "b"])


async def test_rolled_back_enqueue_wakes_nobody(bench: Bench) -> None:
    notifier = Notifier(bench.db)
    store = JobStore(notifier=notifier)
    async with bench.db.dedicated_connection() as listener:
        await listener.execute("LISTEN dl_jobs")
        with suppress(LookupError):
            async with notifier.transaction() as tx:
                await store.enqueue(tx, "q", "noop", {})
                raise LookupError
        await notifier.settled()
        assert await _heard(bench, listener) == []


async def test_worker_hears_of_what_is_enqueued_under_a_notifier(bench: Bench) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    notifier = Notifier(bench.db)
    store = JobStore(notifier=notifier)
    async with bench.working(claim_backoff_s=3600.0):
        await bench.ended(await bench.enqueue())
        async with notifier.transaction() as tx:
            await store.enqueue(tx, "q", "noop", {})
            await store.copy_many(tx, [JobRequest("q", "noop") for _ in range(3)])
        rows = await bench.execute("SELECT job_id FROM dl_jobs_all")
        assert set(await bench.ended(*(row[0] for row in rows))) == {"succeeded"}


async def test_ends_notify_nobody_inside_their_transaction(bench: Bench) -> None:
    """For a retry and a released key with a blocked job, the caller receives the queues to wake."""
    for _ in range(2):
        await bench.enqueue(lock_key="k")
    await bench.enqueue()
    claimant = Claimant(bench)
    claims = await claimant.claim(10)
    assert len(claims) == 2
    await claimant.claim(10)  # blocks the other job of the key
    async with bench.db.dedicated_connection() as listener:
        await listener.execute("LISTEN dl_jobs")
        woken: set[str] = set()
        async with bench.db.transaction() as tx:
            completions = [Completion(claim.job_id, claim.claim_no, "retry", delay_s=9.0) for claim in claims]
            await complete_claims(tx, completions, wake=woken.add)
        assert (woken, await _heard(bench, listener)) == ({"q"}, [])


async def test_held_key_is_logged_once_a_while(bench: Bench) -> None:
    release = asyncio.Event()

    @bench.registry.register("wait")
    async def wait(ctx: JobContext, args: dict[str, Any]) -> None:
        await release.wait()

    with capture_logs() as logs:
        async with bench.working():
            ids = [await bench.enqueue("wait", lock_key=key) for key in ("a", "a", "a", "b", "b")]

            async def parked() -> bool:
                return bool(await bench.value("SELECT count(*) = 3 FROM dl_jobs WHERE waits_for = 'key'"))

            await until(parked)
            release.set()
            await bench.ended(*ids)
    reported = [(line["queue"], line["lock_key"]) for line in logs if line["event"] == "worker.claim.backoff"]
    assert sorted(reported) == [("q", "a"), ("q", "b")]


async def test_refused_end_and_lost_job_are_logged(bench: Bench) -> None:
    job_id = await bench.enqueue()
    (claim,) = await Claimant(bench).claim(1)
    await bench.execute("UPDATE dl_workers SET renewed_at = now() - interval '1 hour'")
    with capture_logs() as logs:
        await Reaper(bench.db).reap()
        completions = Completions(bench.db, Notifier(bench.db), {}, caught_up=lambda: None, promoted=lambda _: None)
        writing = asyncio.create_task(completions.run())
        completions.put(Completion(claim.job_id, claim.claim_no, "succeeded"))
        await completions.drained()
        writing.cancel()
    reaped, refused = logs
    assert (reaped["event"], reaped["job_id"], reaped["queue"], reaped["task"]) == (
        "reaper.requeued",
        str(job_id),
        "q",
        "noop",
    )
    assert (refused["event"], refused["job_id"]) == ("worker.complete.failed", str(job_id))


async def test_worker_without_a_listener_polls(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    monkeypatch.setattr("classifeed_jobs.worker.listener.CHANNEL", "another_channel")
    async with bench.working(claim_backoff_s=0.2):
        assert await bench.ended(await bench.enqueue()) == ["succeeded"]
