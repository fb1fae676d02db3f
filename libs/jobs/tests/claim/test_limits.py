"""Limits, rates and pauses of queues, and rotation of partition keys, over all processes."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from classifeed_jobs import JobContext, JobRequest, QueueLimits, Queues
from classifeed_jobs.claim.claim import Claim

from ..claimant import Claimant
from ..conftest import Bench, until

QUEUES = Queues()


async def _limit(bench: Bench, **limits: Any) -> None:
    async with bench.db.transaction() as tx:
        await QUEUES.set_limits(tx, "q", QueueLimits(**limits))


async def _fill(bench: Bench, **jobs: int) -> None:
    async with bench.db.transaction() as tx:
        for tenant, count in jobs.items():
            await bench.store.enqueue_many(tx, [JobRequest("q", "noop", partition_key=tenant) for _ in range(count)])


async def _tenants(bench: Bench, claims: list[Claim]) -> Counter[Any]:
    rows = await bench.execute(
        "SELECT partition_key FROM dl_jobs WHERE job_id = ANY(%s)", [claim.job_id for claim in claims]
    )
    return Counter(row[0] for row in rows)


@pytest.mark.slow
async def test_tenant_with_100_000_jobs_ahead_keeps_another_waiting_two_claims_at_most(bench: Bench) -> None:
    await bench.execute(
        "INSERT INTO dl_jobs (queue, task, partition_key) SELECT 'q', 'noop', 'big' FROM generate_series(1, 100000)"
    )
    await _fill(bench, small=3, atom=1)
    for wanted in (1, 5):
        claimant = Claimant(bench)
        seen: Counter[Any] = Counter()
        for _ in range(3):  # three tenants: each is served within three claims, even if the others have many jobs
            seen += await _tenants(bench, await claimant.claim(wanted))
            if wanted > 1:
                break
        assert seen["small"] > 0, "the small tenant waits"
    late = await bench.enqueue(partition_key="new")
    found = [claim.job_id for _ in range(2) for claim in await claimant.claim(3)]
    assert late in found


async def test_keys_rotate_and_start_behind_the_last_one_served(bench: Bench) -> None:
    await _fill(bench, a=20, b=20, c=20)
    claimant = Claimant(bench)
    served = [next(iter(await _tenants(bench, await claimant.claim(1)))) for _ in range(6)]
    assert served == ["a", "b", "c", "a", "b", "c"]
    assert await _tenants(bench, await claimant.claim(4)) == {"a": 2, "b": 1, "c": 1}
    assert await _tenants(bench, await claimant.claim(5)) == {"b": 2, "c": 2, "a": 1}


async def test_short_partition_leaves_its_share_to_the_others_and_priority_goes_before_rotation(bench: Bench) -> None:
    await _fill(bench, a=20, b=2)
    urgent = await bench.enqueue(partition_key="z", priority=1)
    plain = [await bench.enqueue() for _ in range(2)]
    claims = await Claimant(bench).claim(15)
    assert len(claims) == 15
    assert claims[0].job_id == urgent
    tenants = await _tenants(bench, claims)
    assert tenants == {"z": 1, "b": 2, "a": 10, None: 2}
    assert set(plain) <= {claim.job_id for claim in claims}
    assert len(await Claimant(bench).claim(100)) == 10
    assert await Claimant(bench).claim(5) == []


@pytest.mark.parametrize("hot", [0, 40])
async def test_later_priority_waits_until_the_one_before_has_nothing_more_to_give(bench: Bench, hot: int) -> None:
    """Even with unequal partitions and many blocked jobs: a partial share does not mean that the priority is done."""
    async with bench.db.transaction() as tx:
        held = [JobRequest("q", "noop", partition_key="a", lock_key="hot", priority=1) for _ in range(hot)]
        await bench.store.enqueue_many(tx, held)
        urgent = [JobRequest("q", "noop", partition_key=key, priority=1) for key in ("a", "b", *"c" * 20)]
        ids = {one.job_id for one in await bench.store.enqueue_many(tx, urgent)}
    await _fill(bench, a=20, b=20, d=20)
    claimant = Claimant(bench)
    if hot:
        assert [claim.lock_key for claim in await claimant.claim(1)] == ["hot"]
    first = {claim.job_id for claim in await Claimant(bench).claim(15)}
    assert len(first) == 15
    assert first <= ids, "a later priority was served first"
    rest = {claim.job_id for claim in await Claimant(bench).claim(15)}
    assert len(rest) == 15
    assert rest >= ids - first, "a later priority was served first"


async def test_queue_without_partition_keys_goes_back_to_the_plain_claim(bench: Bench) -> None:
    claimant = Claimant(bench)
    await _fill(bench, a=1)
    plain = [await bench.enqueue() for _ in range(3)]
    assert len(await claimant.claim(2)) == 2
    was_fair = claimant.cursor.is_fair
    assert len(await claimant.claim(5)) == 2
    assert await claimant.claim(5) == []
    assert (was_fair, claimant.cursor.is_fair) == (True, False)
    assert await bench.value("SELECT count(*) FROM dl_jobs WHERE status = 'running'") == len(plain) + 1


async def test_hot_key_of_one_tenant_is_blocked_and_others_go_on(bench: Bench) -> None:
    async with bench.db.transaction() as tx:
        hot = [JobRequest("q", "noop", partition_key="a", lock_key="hot") for _ in range(300)]
        await bench.store.enqueue_many(tx, hot)
    await _fill(bench, b=4)
    claims = await Claimant(bench).claim(10)
    assert await _tenants(bench, claims) == {"a": 1, "b": 4}
    assert await Claimant(bench, "w2").claim(10) == []
    assert await bench.value("SELECT count(*) FROM dl_jobs WHERE waits_for = 'key'") == 299


async def test_max_running_holds_over_all_processes(bench: Bench) -> None:
    """Four processes claim concurrently and repeatedly: the sum never exceeds the limit, and no process starves."""
    await _limit(bench, max_running=3)
    async with bench.db.transaction() as tx:
        await bench.store.enqueue_many(tx, [JobRequest("q", "noop") for _ in range(60)])
    claimants = [Claimant(bench, f"w{n}") for n in range(4)]
    together = [response.claims for response in await asyncio.gather(*(one.claim_within(2) for one in claimants))]
    assert sum(map(len, together)) == 3, "four at once have as many as the limit allows"
    for claimant, claims in zip(claimants, together, strict=True):
        await claimant.end(*claims)
    most = 0
    done = 3

    async def work(claimant: Claimant) -> None:
        nonlocal most, done
        while done < 60:
            response = await claimant.claim_within(2)
            running = await bench.value("SELECT count(*) FROM dl_jobs WHERE status = 'running'")
            most = max(most, running)
            await claimant.end(*response.claims)
            done += len(response.claims)

    await asyncio.gather(*map(work, claimants))
    assert most <= 3


async def test_plain_claim_of_a_limited_queue_takes_nothing(bench: Bench) -> None:
    await _limit(bench, max_running=1)
    await bench.enqueue()
    assert await Claimant(bench).claim(5) == []
    await _limit(bench)
    assert await bench.value("SELECT count(*) FROM dl_queues") == 0
    assert len(await Claimant(bench).claim(5)) == 1


async def test_limit_of_a_partition_key_binds_each_key_by_itself(bench: Bench) -> None:
    await _limit(bench, max_running_per_partition=2)
    await _fill(bench, a=10, b=1, c=5)
    free = [await bench.enqueue() for _ in range(3)]
    claimant = Claimant(bench)
    first = (await claimant.claim_within(50)).claims
    assert await _tenants(bench, first) == {"a": 2, "b": 1, "c": 2, None: len(free)}
    assert (await claimant.claim_within(50)).claims == []
    await claimant.end(*first)
    assert await _tenants(bench, (await claimant.claim_within(50)).claims) == {"a": 2, "c": 2}


async def test_rate_is_a_token_bucket_in_the_databases_time(bench: Bench) -> None:
    await _limit(bench, rate_per_s=5.0, rate_burst=4)
    async with bench.db.transaction() as tx:
        await bench.store.enqueue_many(tx, [JobRequest("q", "noop") for _ in range(40)])
    claimant = Claimant(bench)
    response = await claimant.claim_within(50)
    assert len(response.claims) == 4
    assert response.retry_in_s is not None
    assert 0.02 <= response.retry_in_s <= 0.2
    await bench.execute("UPDATE dl_queues SET refilled_at = refilled_at - interval '0.6 s', tokens = 0")
    assert len((await claimant.claim_within(50)).claims) in {3, 4}
    # At most the burst, even after a long idle time.
    await bench.execute("UPDATE dl_queues SET refilled_at = refilled_at - interval '1 hour'")
    assert len((await claimant.claim_within(50)).claims) == 4


async def test_rate_that_holds_nothing_back_needs_no_other_poll(bench: Bench) -> None:
    await _limit(bench, rate_per_s=0.1, rate_burst=5)
    for _ in range(3):
        await bench.enqueue()
    response = await Claimant(bench).claim_within(2)
    assert (len(response.claims), response.retry_in_s) == (2, None)


async def test_idle_queue_is_not_polled_at_the_interval_of_its_rate(bench: Bench) -> None:
    await _limit(bench, rate_per_s=1000.0, rate_burst=1)
    await bench.enqueue()
    response = await Claimant(bench).claim_within(50)
    assert (len(response.claims), response.retry_in_s) == (1, None)


async def test_workers_keep_the_limit_and_wake_each_other(bench: Bench) -> None:
    """Polls are a minute apart, so a completion must start the next job, in the other process too."""
    running = 0
    most = 0

    @bench.registry.register("short")
    async def short(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1

    await _limit(bench, max_running=2)
    ids = [await bench.enqueue("short") for _ in range(20)]
    async with bench.working(claim_backoff_s=3600.0), bench.working(claim_backoff_s=3600.0):
        assert set(await bench.ended(*ids)) == {"succeeded"}
    assert most <= 2


async def test_worker_keeps_the_rate(bench: Bench) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    await _limit(bench, rate_per_s=20.0, rate_burst=1)
    ids = [await bench.enqueue() for _ in range(11)]
    async with bench.working(claim_backoff_s=3600.0):
        await bench.ended(*ids)
    took_s = await bench.value("SELECT extract(epoch FROM max(started_at) - min(started_at))::float8 FROM dl_jobs_done")
    assert took_s >= 10 / 20 * 0.95


async def test_paused_queue_starts_nothing_until_it_is_resumed(bench: Bench) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    async with bench.working(claim_backoff_s=3600.0):
        warm = await bench.enqueue()
        await bench.ended(warm)
        async with bench.db.transaction() as tx:
            await QUEUES.pause(tx, "q", by="operator")
            await QUEUES.pause(tx, "q", by="somebody else")
        held = await bench.enqueue()
        other = await bench.enqueue(queue="other")
        async with bench.db.transaction() as tx:
            (stats,) = await QUEUES.stats(tx, queue="q")
        assert (stats.paused_by, stats.ready, stats.running) == ("operator", 1, 0)
        async with bench.db.transaction() as tx:
            await QUEUES.resume(tx, "q")
        assert await bench.ended(held) == ["succeeded"]
    assert await bench.value("SELECT count(*) FROM dl_queues") == 0
    assert (await bench.job(other)).status == "queued"


async def test_figures_of_queues(bench: Bench) -> None:
    claimant = Claimant(bench)
    await bench.enqueue(queue="other", available_at=await bench.value("SELECT now() + interval '1 hour'"))
    for _ in range(3):
        await bench.enqueue(lock_key="k")
    await bench.enqueue()
    claims = await claimant.claim(10)
    await claimant.end(claims[1])
    await claimant.claim(10)
    await bench.enqueue()
    await bench.execute(
        "UPDATE dl_jobs SET created_at = now() - interval '1 hour', available_at = now() - interval '1 hour'"
    )
    await _limit(bench, max_running=7)
    async with bench.db.transaction() as tx:
        other, q = await QUEUES.stats(tx, window_s=60)
    assert (other.queue, other.delayed, other.ready, other.workers) == ("other", 0, 1, 0)
    assert (q.ready, q.parked, q.running, q.workers) == (1, 2, 1, 1)
    assert q.oldest_s is not None
    assert q.oldest_s >= 3600
    assert q.succeeded_per_s == pytest.approx(1 / 60)
    assert q.limits == QueueLimits(max_running=7)


def test_limits_that_say_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="max_running must be above 0"):
        QueueLimits(max_running=0)
    with pytest.raises(ValueError, match="rate_burst has no effect"):
        QueueLimits(rate_burst=3)


async def test_concurrent_claims_of_many_partitions_take_each_job_once(bench: Bench) -> None:
    await _fill(bench, **{f"t{n}": 7 for n in range(30)})
    done: list[Any] = []

    async def work(worker_id: str) -> None:
        claimant = Claimant(bench, worker_id)

        async def one() -> bool:
            claims = await claimant.claim(5)
            done.extend(claim.job_id for claim in claims)
            await claimant.end(*claims)
            return len(done) >= 210

        await until(one)

    await asyncio.gather(*(work(f"w{n}") for n in range(4)))
    assert len(done) == len(set(done)) == 210
