"""Claims, lock keys, the fence and the reaper, statement by statement."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import psycopg
import pytest

from classifeed_jobs import ClaimLost, JobContext, JobRequest, Reaper
from classifeed_jobs.claim.claim import Claim, Completion
from classifeed_jobs.claim.fetch import QueueCursor, claim_jobs
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.claim.guard import guard_claim, save_checkpoint
from classifeed_jobs.maintenance.housekeeping import Housekeeping
from classifeed_jobs.worker.process_lease import ProcessLease

from ..conftest import Bench, until


async def _claim(bench: Bench, wanted: int, worker_id: str = "w1") -> list[Claim]:
    async with bench.db.connection() as connection:
        await ProcessLease(worker_id, ["q"]).register(connection)
        return (await claim_jobs(connection, worker_id=worker_id, queue="q", wanted=wanted, fresh_s=60)).claims


async def _end(bench: Bench, *claims: Claim, outcome: str = "succeeded") -> list[str]:
    async with bench.db.transaction() as tx:
        ended = await complete_claims(tx, [Completion(claim.job_id, claim.claim_no, outcome) for claim in claims])
    return [one.outcome for one in ended]


async def _silence(bench: Bench, worker_id: str = "w1") -> None:
    await bench.execute(
        "UPDATE dl_workers SET renewed_at = clock_timestamp() - interval '1 hour' WHERE worker_id = %s", worker_id
    )


async def test_hot_key_at_the_head_keeps_nobody_waiting(bench: Bench) -> None:
    async with bench.db.transaction() as tx:
        await bench.store.enqueue_many(tx, [JobRequest("q", "noop", lock_key="hot") for _ in range(1000)])
        await bench.store.enqueue_many(tx, [JobRequest("q", "noop", lock_key=f"k{n}") for n in range(5)])
    first = await _claim(bench, 1)
    assert first[0].lock_key == "hot"
    # One claim of another worker finds all jobs after the thousand blocked ones.
    others = await _claim(bench, 10, "w2")
    assert {claim.lock_key for claim in others} == {f"k{n}" for n in range(5)}
    # The next claims do not scan the blocked jobs at all.
    assert await bench.value("SELECT count(*) FROM dl_jobs WHERE status = 'queued' AND waits_for IS NULL") == 0
    await _end(bench, *first)
    assert [claim.lock_key for claim in await _claim(bench, 10)] == ["hot"]


async def test_one_claim_takes_one_job_of_a_key_in_order(bench: Bench) -> None:
    ids = [await bench.enqueue(lock_key="a", priority=priority) for priority in (3, 1, 2)]
    ids.append(await bench.enqueue(lock_key="b", priority=9))
    taken = []
    while claims := await _claim(bench, 10):
        taken.append([claim.job_id for claim in claims])
        await _end(bench, *claims)
    assert taken == [[ids[1], ids[3]], [ids[2]], [ids[0]]]


async def test_jobs_with_and_without_keys_are_claimed_in_one_order(bench: Bench) -> None:
    cursor = QueueCursor()

    async def take(*ids: UUID) -> list[Claim]:
        async with bench.db.connection() as connection:
            response = await claim_jobs(connection, worker_id="w1", queue="q", wanted=2, fresh_s=60, cursor=cursor)
        assert [claim.job_id for claim in response.claims] == list(ids)
        return response.claims

    async with bench.db.connection() as connection:
        await ProcessLease("w1", ["q"]).register(connection)
    ids = [await bench.enqueue(lock_key=key) for key in (None, "a", None, "a", None)]
    first = await take(ids[0], ids[1])
    assert not cursor.is_plain
    second = await take(ids[2], ids[4])  # the other job of the key is blocked by the first
    await _end(bench, *first, *second)
    await _end(bench, *await take(ids[3]))
    # Without keys, the short statement is used again, and then meets a key again.
    for _ in range(2):
        await take(await bench.enqueue())
        assert cursor.is_plain
    late = [await bench.enqueue(lock_key=key) for key in (None, "b")]
    await take(*late)
    assert not cursor.is_plain


async def test_concurrent_claims_share_the_jobs_and_never_a_key(bench: Bench) -> None:
    async with bench.db.transaction() as tx:
        requests = [JobRequest("q", "noop", lock_key=f"k{n % 30}" if n % 4 else None) for n in range(400)]
        await bench.store.enqueue_many(tx, requests)
    held: set[str] = set()
    done: list[Any] = []

    async def work(worker_id: str) -> None:
        idle = 0
        while idle < 20:
            claims = await _claim(bench, 7, worker_id)
            keys = [claim.lock_key for claim in claims if claim.lock_key is not None]
            assert not held & set(keys), "a key with two runners"
            assert len(set(keys)) == len(keys)
            held.update(keys)
            await asyncio.sleep(0.001)
            held.difference_update(keys)
            assert await _end(bench, *claims) == ["succeeded"] * len(claims)
            done.extend(claim.job_id for claim in claims)
            idle = 0 if claims else idle + 1

    await asyncio.gather(*(work(f"w{n}") for n in range(4)))
    assert len(done) == len(set(done)) == 400


async def test_free_of_a_key_waits_for_a_park_that_is_not_committed(bench: Bench) -> None:
    """Otherwise the completion would not see the blocked job, and it would stay blocked forever."""
    for _ in range(2):
        await bench.enqueue(lock_key="a")
    holder = await _claim(bench, 1)
    async with bench.db.transaction() as parking:
        await ProcessLease("w2", ["q"]).register(parking)
        response = await claim_jobs(parking, worker_id="w2", queue="q", wanted=5, fresh_s=60)
        assert (response.claims, response.blocked_keys) == ([], {"a"})
        freeing = asyncio.create_task(_end(bench, *holder))

        async def waits() -> bool:
            sql = (
                "SELECT count(*) = 1 FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            return bool(await bench.value(sql))

        await until(waits)
    assert await freeing == ["succeeded"]
    assert len(await _claim(bench, 5)) == 1


async def test_cancel_of_the_promoted_job_promotes_the_next_one(bench: Bench) -> None:
    ids = [await bench.enqueue(lock_key="a") for _ in range(3)]
    holder = await _claim(bench, 5)
    assert await _claim(bench, 5, "w2") == []
    await _end(bench, *holder)
    async with bench.db.transaction() as tx:
        await bench.store.cancel(tx, ids[1])
    assert [claim.job_id for claim in await _claim(bench, 5)] == [ids[2]]


async def test_claim_needs_a_fresh_lease_row(bench: Bench) -> None:
    await bench.enqueue()
    async with bench.db.connection() as connection:
        response = await claim_jobs(connection, worker_id="nobody", queue="q", wanted=1, fresh_s=60)
    assert (response.is_registered, response.claims) == (False, [])
    await _claim(bench, 0)
    await _silence(bench)
    async with bench.db.connection() as connection:
        response = await claim_jobs(connection, worker_id="w1", queue="q", wanted=1, fresh_s=60)
    assert (response.is_registered, response.claims) == (False, [])


async def test_reaper_returns_fails_or_cancels_what_is_lost(bench: Bench) -> None:
    again = await bench.enqueue(lock_key="a", max_attempts=None)
    behind = await bench.enqueue(lock_key="a")
    spent = await bench.enqueue(max_attempts=1)
    unwanted = await bench.enqueue(lock_key="c")
    alive = await bench.enqueue(lease_ttl_s=7200)
    claims = {claim.job_id: claim for claim in await _claim(bench, 10)}
    assert set(claims) == {again, spent, unwanted, alive}
    async with bench.db.transaction() as tx:
        await bench.store.cancel(tx, unwanted)
    assert await Reaper(bench.db).reap() == []
    await _silence(bench)
    assert await Reaper(bench.db).backlog() == {"lost_jobs": 3}
    ended = {one.job_id: one.outcome for one in await Reaper(bench.db).reap()}
    assert ended == {again: "lost", spent: "failed", unwanted: "canceled"}
    assert await bench.kinds(again) == ["queued", "picked", "heartbeat_lost", "requeued"]
    assert await bench.kinds(spent) == ["queued", "picked", "heartbeat_lost", "failed"]
    assert (await bench.job(spent)).error == "its worker did not renew the lease"
    assert (await bench.job(alive)).status == "running"
    assert await bench.value("SELECT count(*) FROM dl_job_locks") == 0
    assert await _end(bench, claims[again]) == []
    assert {claim.job_id for claim in await _claim(bench, 1, "w2")} == {again}
    assert (await bench.job(behind)).status == "queued"


async def test_several_reapers_give_each_job_back_once(bench: Bench) -> None:
    async with bench.db.transaction() as tx:
        await bench.store.enqueue_many(tx, [JobRequest("q", "noop", max_attempts=None) for _ in range(300)])
    await _claim(bench, 300)
    await _silence(bench)
    ended = await asyncio.gather(*(Reaper(bench.db).reap() for _ in range(4)))
    assert sum(map(len, ended)) == 300
    assert await bench.value("SELECT count(*) FROM dl_job_events WHERE kind = 'requeued'") == 300


async def test_guard_holds_off_the_reaper_until_the_effect_is_in(bench: Bench) -> None:
    await bench.enqueue()
    (claim,) = await _claim(bench, 1)
    async with bench.db.transaction() as tx:
        await guard_claim(tx, claim.job_id, claim.claim_no)
        await _silence(bench)
        assert await Reaper(bench.db).reap() == []
        # Progress and cancellation do not wait for the transaction of the effect.
        async with bench.db.transaction(timeout_s=20) as other:
            canceled = await bench.store.cancel(other, claim.job_id)
            assert canceled is not None
            assert canceled.cancel_requested
    assert [one.outcome for one in await Reaper(bench.db).reap()] == ["canceled"]


async def test_guard_refuses_a_claim_that_was_taken_back(bench: Bench) -> None:
    await bench.execute("CREATE TABLE effects (n integer)")
    await bench.enqueue(max_attempts=None)
    (stale,) = await _claim(bench, 1)
    await _silence(bench)
    await Reaper(bench.db).reap()

    async def effect(claim: Claim, checkpoint: bool) -> None:
        async with bench.db.transaction() as tx:
            await tx.execute("INSERT INTO effects VALUES (1)")
            if checkpoint:
                await save_checkpoint(tx, claim.job_id, claim.claim_no, 1)
            else:
                await guard_claim(tx, claim.job_id, claim.claim_no)

    for checkpoint in (True, False):
        with pytest.raises(ClaimLost, match="is no longer held"):
            await effect(stale, checkpoint)
    (current,) = await _claim(bench, 1, "w2")
    for checkpoint in (True, False):
        with pytest.raises(ClaimLost):
            await effect(stale, checkpoint)
    assert await bench.value("SELECT count(*) FROM effects") == 0
    await effect(current, True)
    assert await bench.value("SELECT count(*) FROM effects") == 1


async def test_process_that_stands_still_in_a_guarded_transaction_is_cut_off(bench: Bench) -> None:
    await bench.enqueue(lease_ttl_s=1)
    (claim,) = await _claim(bench, 1)

    async def stand_still() -> None:
        async with bench.db.transaction() as tx:
            await guard_claim(tx, claim.job_id, claim.claim_no)
            await _until_reaped(bench)
            await tx.execute("SELECT 1")

    with pytest.raises(psycopg.Error):
        await stand_still()


async def _until_reaped(bench: Bench) -> None:
    async def reaped() -> bool:
        return bool(await Reaper(bench.db).reap())

    await until(reaped)


async def test_lost_jobs_of_forgotten_rows_cannot_exist(bench: Bench) -> None:
    """A lease row is kept as long as a job runs under it, even if its process is silent; then it is removed."""
    await bench.enqueue(max_attempts=None)
    await _claim(bench, 1)
    await _silence(bench)
    forgetful = Housekeeping(bench.db, retention=None, forget_workers_s=1)
    await forgetful.forget()
    assert await bench.value("SELECT count(*) FROM dl_workers") == 1
    await Reaper(bench.db).reap()
    await forgetful.forget()
    assert await bench.value("SELECT count(*) FROM dl_workers") == 0


async def test_raw_insert_wakes_workers_and_delayed_one_waits(bench: Bench) -> None:
    """Producers that use only the table get the same behaviour."""

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    async with bench.working(claim_backoff_s=3600.0):
        now = await bench.value("INSERT INTO dl_jobs (queue, task) VALUES ('q', 'noop') RETURNING job_id")
        assert await bench.ended(now) == ["succeeded"]
        later = await bench.value(
            "INSERT INTO dl_jobs (queue, task, available_at) "
            "VALUES ('q', 'noop', clock_timestamp() + interval '0.5 s') RETURNING job_id"
        )
        assert await bench.ended(later) == ["succeeded"]


async def test_notify_can_be_left_to_the_producer(bench: Bench) -> None:
    async with bench.db.dedicated_connection() as listener:
        await listener.execute("LISTEN dl_jobs")
        async with bench.db.transaction() as tx:
            await tx.execute("SET LOCAL dl_jobs.notify = off")
            await bench.store.enqueue(tx, "quiet", "noop", {})
        async with bench.db.transaction() as tx:
            await bench.store.enqueue_many(tx, [JobRequest("loud", "noop") for _ in range(50)])
        heard = [notification.payload async for notification in listener.notifies(timeout=60, stop_after=1)]
    assert heard == ["loud"]
