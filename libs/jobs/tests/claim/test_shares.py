"""Shares of a process's slots: no partition key has to wait for the completion of another key's runs (ADR 0035)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from classifeed_devkit.testing.background import running
from classifeed_jobs import JobContext, JobRequest, QueueLimits, Queues
from classifeed_jobs.claim.claim import Claim, Completion
from classifeed_jobs.claim.fetch import ClaimResult, QueueCursor, claim_jobs
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.claim.limits import claim_within_limits
from classifeed_jobs.claim.shares import FreeSlots, HeldSlots
from classifeed_jobs.worker.process_lease import ProcessLease

from ..conftest import Bench, until


class Process:
    """A process that claims within its slots, by statements."""

    def __init__(self, bench: Bench, slots: int, worker_id: str = "w1") -> None:
        self._bench = bench
        self._slots = slots
        self._worker_id = worker_id
        self._cursor = QueueCursor()
        self.held = HeldSlots()
        self.claims: list[Claim] = []

    async def claim(self, *, is_limited: bool = False) -> tuple[ClaimResult, Counter[Any]]:
        """Claim for all free slots; return the result, and the keys of the claimed jobs."""
        free = self._slots - len(self.claims)
        async with self._bench.db.connection() as connection:
            await ProcessLease(self._worker_id, ["q"]).register(connection)
            claim = claim_within_limits if is_limited else claim_jobs
            response = await claim(
                connection,
                worker_id=self._worker_id,
                queue="q",
                wanted=free,
                fresh_s=60,
                cursor=self._cursor,
                slots=FreeSlots(free, self.held.by_key),
            )
        assert response is not None
        for claimed in response.claims:
            self.held.take(claimed.partition_key)
        self.claims += response.claims
        return response, Counter(claimed.partition_key for claimed in response.claims)

    async def end(self, key: str | None) -> None:
        """End one job of the key."""
        claim = next(claim for claim in self.claims if claim.partition_key == key)
        self.claims.remove(claim)
        self.held.release(key)
        async with self._bench.db.transaction() as tx:
            await complete_claims(tx, [Completion(claim.job_id, claim.claim_no, "succeeded")])


async def _fill(bench: Bench, priority: int = 100, **jobs: int) -> None:
    requests = [
        JobRequest("q", "noop", partition_key=key if key != "none" else None, priority=priority)
        for key, count in jobs.items()
        for _ in range(count)
    ]
    async with bench.db.transaction() as tx:
        await bench.store.enqueue_many(tx, requests)


def _one_by_one(slots: int, waiting: Mapping[str, int], held: Mapping[str, int]) -> dict[str, int]:
    """Return the shares by the rule: the key with the fewest slots gets one while it holds fewer than are free."""
    now = dict(held)
    left = dict(waiting)
    free = slots - sum(held.values())
    while free > 0:
        able = [key for key in sorted(left) if left[key] and now.get(key, 0) < free]
        if not able:
            break
        key = min(able, key=lambda each: now.get(each, 0))
        now[key] = now.get(key, 0) + 1
        left[key] -= 1
        free -= 1
    return {key: now[key] - held.get(key, 0) for key in now if now[key] > held.get(key, 0)}


@pytest.mark.parametrize(
    ("slots", "waiting", "expected"),
    [
        (1, {"a": 9}, {"a": 1}),
        (2, {"a": 9}, {"a": 1}),
        (3, {"a": 9}, {"a": 2}),
        (4, {"a": 9}, {"a": 2}),
        (16, {"a": 40}, {"a": 8}),
        (16, {"a": 40, "b": 40}, {"a": 6, "b": 5}),
        (16, {"a": 40, "b": 2}, {"a": 7, "b": 2}),
        (16, {"a": 40, "b": 40, "c": 40}, {"a": 4, "b": 4, "c": 4}),
        (4, {"a": 9, "b": 9}, {"a": 2, "b": 1}),
        (16, {"a": 3, "b": 2, "c": 1}, {"a": 3, "b": 2, "c": 1}),
        (16, {"none": 40, "a": 40}, {"none": 6, "a": 5}),
    ],
)
async def test_share_of_a_key_and_what_stays_free(
    bench: Bench, slots: int, waiting: dict[str, int], expected: dict[str, int]
) -> None:
    """A single key gets half of the slots, so a free one is left for the next key."""
    await _fill(bench, **waiting)
    process = Process(bench, slots)
    response, claimed = await process.claim()
    assert {key or "none": count for key, count in claimed.items()} == expected
    assert response.is_held_back == (waiting != expected)
    if slots > 1:
        await _fill(bench, zz=1)
        assert (await process.claim())[1] == {"zz": 1}


@pytest.mark.parametrize("seed", range(12))
async def test_claims_are_what_the_rule_gives_one_by_one(bench: Bench, seed: int) -> None:
    """For any number of claims at once, and with any running jobs."""
    rng = random.Random(seed)
    slots = rng.randint(1, 20)
    process = Process(bench, slots)
    left: Counter[str] = Counter()
    for _ in range(4):
        jobs = {key: rng.randint(1, 9) for key in rng.sample("abcdef", rng.randint(1, 5))}
        await _fill(bench, **jobs)
        left.update(jobs)
        held = {str(key): count for key, count in process.held.by_key.items()}
        _, claimed = await process.claim()
        wanted = _one_by_one(slots, left, held)
        # The rotation decides which of several keys gets the last slot.
        keys = held.keys() | claimed.keys() | wanted.keys()
        assert sorted(held.get(key, 0) + claimed[key] for key in keys) == sorted(
            held.get(key, 0) + wanted.get(key, 0) for key in keys
        )
        left.subtract(claimed)
        for key in rng.sample(sorted(process.held.by_key, key=str), min(2, len(process.held.by_key))):
            await process.end(key)


async def test_key_gets_no_more_than_its_share_back_when_its_runs_end(bench: Bench) -> None:
    await _fill(bench, a=20)
    process = Process(bench, 8)
    await process.claim()
    await _fill(bench, b=20)
    await process.claim()
    assert process.held.by_key == {"a": 4, "b": 2}
    for _ in range(12):
        await process.end("a")
        await process.claim()
    assert abs(process.held.by_key["a"] - process.held.by_key["b"]) <= 1, "it went on with more than the other"
    assert 8 - len(process.claims) >= 1, "nothing is left for the next one"


async def test_later_priority_of_another_key_takes_the_slot_that_the_first_one_may_not(bench: Bench) -> None:
    await _fill(bench, priority=1, a=9)
    await _fill(bench, priority=200, b=1)
    assert (await Process(bench, 2).claim())[1] == {"a": 1, "b": 1}


async def test_jobs_without_a_key_alone_take_all_slots(bench: Bench) -> None:
    """Queues without keys have no shares and reserve no slots."""
    await _fill(bench, none=9)
    response, claimed = await Process(bench, 4).claim()
    assert (claimed, response.is_held_back) == ({None: 4}, False)


async def test_jobs_without_a_key_of_the_version_before_run_beside_those_with_one(bench: Bench) -> None:
    await _fill(bench, none=5)
    await _fill(bench, a=5)
    process = Process(bench, 2)
    seen: Counter[Any] = Counter()
    for _ in range(40):
        seen += (await process.claim())[1]
        if process.claims:
            await process.end(process.claims[0].partition_key)
    assert seen == {None: 5, "a": 5}


async def test_held_lock_keys_of_one_partition_are_passed_over_within_its_share(bench: Bench) -> None:
    async with bench.db.transaction() as tx:
        hot = [JobRequest("q", "noop", partition_key="a", lock_key="hot") for _ in range(60)]
        await bench.store.enqueue_many(tx, hot)
    await _fill(bench, a=5, b=1)
    process = Process(bench, 4)
    _, claimed = await process.claim()
    assert claimed["b"] == 1
    for _ in range(5):
        await process.claim()
    assert process.held.by_key == {"a": 2, "b": 1}


async def test_limit_of_the_queue_for_a_key_holds_beside_the_share(bench: Bench) -> None:
    async with bench.db.transaction() as tx:
        await Queues().set_limits(tx, "q", QueueLimits(max_running_per_partition=5))
    await _fill(bench, a=20, b=20)
    first, second = Process(bench, 8, "w1"), Process(bench, 16, "w2")
    assert (await first.claim(is_limited=True))[1] == {"a": 3, "b": 3}
    assert (await second.claim(is_limited=True))[1] == {"a": 2, "b": 2}


async def test_what_another_claim_holds_at_this_moment_is_looked_for_again(bench: Bench) -> None:
    """Even if the other keys had jobs."""
    await _fill(bench, a=1, b=1)
    async with bench.db.transaction() as tx:
        await tx.execute("SELECT FROM dl_jobs WHERE partition_key = 'a' FOR UPDATE")
        response, claimed = await Process(bench, 8).claim()
    assert (claimed, response.contended) == ({"b": 1}, 1)


@pytest.mark.parametrize("is_shared", [True, False], ids=["shares", "naive"])
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("slots", [2, 16])
async def test_newcomer_starts_while_another_key_floods_the_workers(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, slots: int, processes: int, is_shared: bool
) -> None:
    """The runs of the flooding key complete only after the new one; without shares, it would wait for one of them."""
    if not is_shared:
        monkeypatch.setattr("classifeed_jobs.worker.worker.Worker._slots", lambda *_: None)
    release = asyncio.Event()
    runs: Counter[str] = Counter()

    @bench.registry.register("flood")
    async def flood(ctx: JobContext, args: dict[str, Any]) -> None:
        runs["flood"] += 1
        await release.wait()

    @bench.registry.register("short")
    async def short(ctx: JobContext, args: dict[str, Any]) -> None: ...

    flooding = [await bench.enqueue("flood", partition_key="a") for _ in range(3 * slots)]
    workers = [bench.worker(slots, claim_backoff_s=3600.0) for _ in range(processes)]
    most = slots // 2 if is_shared else slots

    async def are_flooded() -> bool:
        return runs["flood"] >= min(most * processes, len(flooding))

    async with running(workers[0]), running(workers[-1]) if processes == 2 else running(_Nothing()):
        await until(are_flooded)
        if not is_shared:
            later = await bench.enqueue("short", partition_key="b")
            await asyncio.sleep(0.5)
            assert (await bench.job(later)).status == "queued", "the naive way serves newcomers too"
        else:
            for _ in range(3):
                later = await bench.enqueue("short", partition_key="b")
                assert await bench.ended(later) == ["succeeded"]
            assert runs["flood"] == most * processes, "more than a share of the slots"
        release.set()
        # Jobs that were held back start as runs complete, without another notification.
        assert set(await bench.ended(*flooding)) == {"succeeded"}


class _Nothing:
    async def run(self, stop: asyncio.Event) -> None:
        await stop.wait()


async def test_worker_with_one_slot_serves_keys_in_rotation(bench: Bench) -> None:
    order: list[str] = []

    @bench.registry.register("short")
    async def short(ctx: JobContext, args: dict[str, Any]) -> None:
        order.append(args["key"])

    ids = [await bench.enqueue("short", {"key": key}, partition_key=key) for key in "aaaaaab"]
    async with bench.working(1, claim_backoff_s=3600.0):
        assert set(await bench.ended(*ids)) == {"succeeded"}
    assert "b" in order[:2]
