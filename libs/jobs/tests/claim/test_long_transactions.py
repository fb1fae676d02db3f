"""A long-running transaction holds back the xmin horizon: dead rows accumulate, and no work may grow with them.

Scanned rows are counted by the server; the duration of scans is simulated.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from classifeed_common.db import Tx
from classifeed_common.pacing import duty_cycle
from classifeed_common.pacing.duty_cycle import DutyCycle
from classifeed_devkit.testing.background import running
from classifeed_jobs import JobContext, JobRequest, Reaper, Retry
from classifeed_jobs.claim import fetch as claiming
from classifeed_jobs.claim.claim import Claim, Completion
from classifeed_jobs.claim.delayed import DelayedJobs
from classifeed_jobs.claim.fetch import QueueCursor, claim_jobs
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.maintenance import housekeeping
from classifeed_jobs.maintenance.housekeeping import Housekeeping
from classifeed_jobs.worker.process_lease import ProcessLease
from classifeed_jobs.worker.session import Session

from ..conftest import Bench, until

_BATCH = 50
_ROUNDS = 20


@pytest.fixture
def scans_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every scan long, of at most 10 ms: a scan of 1.5 s on a busy machine would delay the next one by 30 s."""
    monkeypatch.setattr(duty_cycle, "_LONG_S", -1.0)
    took = DutyCycle.took
    monkeypatch.setattr(DutyCycle, "took", lambda self, seconds: took(self, min(seconds, 0.01)))


class Clock:
    """Clock of full scans: they are due only after `pass_time`."""

    def __init__(self) -> None:
        self._ahead_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead_s

    def pass_time(self) -> None:
        self._ahead_s += 1e12


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(duty_cycle, "monotonic", clock)
    took = DutyCycle.took
    monkeypatch.setattr(DutyCycle, "took", lambda self, _: took(self, 1e9))
    return clock


@asynccontextmanager
async def _pinned(bench: Bench) -> AsyncIterator[None]:
    async with bench.db.dedicated_connection() as forgotten, forgotten.transaction():
        await forgotten.execute("SELECT pg_current_xact_id()")
        yield


@asynccontextmanager
async def _working(bench: Bench) -> AsyncIterator[Tx]:
    """Provide a connection as of a worker, while a long-running transaction is open."""
    session = Session(bench.db)
    try:
        async with _pinned(bench), session.use() as connection:
            await ProcessLease("w1", ["q"]).register(connection)
            yield connection
    finally:
        await session.close()


async def _fill(bench: Bench, count: int, *, age_s: float = 60.0, key: str | None = None, priority: int = 100) -> None:
    """Insert jobs that were created long ago, one after the other."""
    await bench.execute(
        "INSERT INTO dl_jobs (queue, task, lock_key, priority, created_at) SELECT 'q', 'noop', %s || n, %s,"
        " clock_timestamp() - %s * interval '1 second' + n * interval '1 microsecond' FROM generate_series(1, %s) n",
        key,
        priority,
        age_s,
        count,
    )


async def _claim(connection: Tx, cursor: QueueCursor, wanted: int = _BATCH) -> list[Claim]:
    request: dict[str, Any] = {"worker_id": "w1", "queue": "q", "fresh_s": 600}
    return (await claim_jobs(connection, wanted=wanted, cursor=cursor, **request)).claims


async def _end(connection: Tx, claims: list[Claim], outcome: str = "succeeded", delay_s: float = 0.0) -> None:
    async with connection.transaction():
        await complete_claims(
            connection, [Completion(claim.job_id, claim.claim_no, outcome, delay_s=delay_s) for claim in claims]
        )


def _register_tasks(bench: Bench) -> None:
    """`noop`, and `again`, which is tried a second time `after_s` seconds after the first."""
    tried: set[Any] = set()

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    @bench.registry.register("again")
    async def again(ctx: JobContext, args: dict[str, Any]) -> None:
        if ctx.job_id not in tried:
            tried.add(ctx.job_id)
            raise Retry(after_s=args["after_s"])


async def _walked(connection: Tx, index: str, do: Callable[[], Awaitable[Any]]) -> int:
    """Entries of an index that the server read meanwhile."""

    async def read() -> int:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        counted = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelid = to_regclass(%s)"
        row = await (await connection.execute(counted, [index])).fetchone()
        assert row is not None
        return int(row[0])

    before = await read()
    await do()
    return await read() - before


@pytest.mark.parametrize("key", [None, "k"], ids=["plain", "with lock keys"])
async def test_claims_do_not_scan_what_was_claimed_before(bench: Bench, clock: Clock, key: str | None) -> None:
    cursor = QueueCursor()
    async with _working(bench) as connection:
        for age_s in range(_ROUNDS, 0, -1):
            await _fill(bench, _BATCH, age_s=60 + age_s, key=key)
            claims = await _claim(connection, cursor)
            assert len(claims) == _BATCH
            await _end(connection, claims)
        await _fill(bench, _BATCH, key=key)
        naive = await _walked(connection, "dl_jobs_claim", lambda: _claim(connection, QueueCursor(), 10))
        taken = await _walked(connection, "dl_jobs_claim", lambda: _claim(connection, cursor, 10))
    assert naive >= _BATCH * _ROUNDS
    assert taken <= _BATCH


async def test_jobs_of_other_priorities_do_not_wait_for_a_full_scan(bench: Bench, clock: Clock) -> None:
    cursor = QueueCursor()
    async with _working(bench) as connection:
        for _ in range(3):
            await _fill(bench, _BATCH)
            await _end(connection, await _claim(connection, cursor))
        await _fill(bench, 3, priority=100)
        await _fill(bench, 3, priority=200, age_s=3600)
        await _fill(bench, 3, priority=-5, age_s=3600)
        first, second = await _claim(connection, cursor, 2), await _claim(connection, cursor, 5)
        third = await _claim(connection, cursor, 5)
        orders = {claim.job_id: await bench.job(claim.job_id) for claim in [*first, *second, *third]}
        priorities = [orders[claim.job_id].priority for claim in [*first, *second, *third]]
    assert priorities == [-5] * 3 + [100] * 3 + [200] * 3


@pytest.mark.parametrize("key", [None, "k"], ids=["plain", "with lock keys"])
async def test_what_lies_behind_a_scan_cursor_is_found_by_the_next_full_scan(
    bench: Bench, clock: Clock, key: str | None
) -> None:
    cursor = QueueCursor()
    async with _working(bench) as connection:
        for number in range(3):
            await _fill(bench, 5, key=key and f"{key}{number}-")
            claims = await _claim(connection, cursor, 5)
        await _end(connection, claims[:2], "retry")  # as old as they were
        await _fill(bench, 2, age_s=3600, key="late")  # as of a transaction that took long
        request: dict[str, Any] = {"worker_id": "w1", "queue": "q", "fresh_s": 600, "wanted": 20, "cursor": cursor}
        blind = await claim_jobs(connection, **request)
        assert blind.claims == []
        assert blind.retry_in_s is not None
        assert blind.retry_in_s > 0
        clock.pass_time()
        whole = await claim_jobs(connection, **request)
        assert len(whole.claims) == 4
        assert {claim.job_id for claim in claims[:2]} < {claim.job_id for claim in whole.claims}


async def test_partition_keys_are_met_by_the_next_full_scan(bench: Bench, clock: Clock) -> None:
    cursor = QueueCursor()
    async with _working(bench) as connection:
        for _ in range(3):
            await _fill(bench, 5)
            await _end(connection, await _claim(connection, cursor, 5))
        job_id = await bench.enqueue(partition_key="tenant")
        assert await _claim(connection, cursor) == []
        clock.pass_time()
        assert [claim.job_id for claim in await _claim(connection, cursor)] == [job_id]


@pytest.mark.parametrize(("look", "ticks"), [(5, 11), (6, 12)], ids=["as many as wanted", "to the end"])
@pytest.mark.parametrize("statement", [claiming._CLAIM_PLAIN, claiming._CLAIM], ids=["plain", "with lock keys"])
async def test_a_scan_is_measured_up_to_the_last_job_or_to_the_end(
    bench: Bench, statement: str, look: int, ticks: int
) -> None:
    """Requeued jobs are at the head; the long part of the scan comes after them."""
    await _fill(bench, 5)
    async with _working(bench) as connection:
        # A clock that advances by a second at each reading.
        await connection.execute("CREATE SEQUENCE ticks")
        await connection.execute(
            "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS"
            " $$ SELECT statement_timestamp() + nextval('ticks') * interval '1 second' $$"
        )
        await connection.execute("SELECT set_config('search_path', current_schema() || ', pg_catalog', false)")
        request = {"worker": "w1", "queue": "q", "fresh_s": 600, "is_permitted": False, "look": look, "wanted": look}
        row = await (await connection.execute(statement, request)).fetchone()
        assert row is not None
        scanned_s = row[0]
    # One reading of the clock for the lease row, two for each job, one at the end; none for writes.
    assert scanned_s == pytest.approx(ticks, abs=0.01)


@pytest.mark.parametrize("seed", range(6))
async def test_no_job_is_left_behind_whatever_happens_in_which_order(bench: Bench, clock: Clock, seed: int) -> None:
    rng = random.Random(seed)
    turns = {"w1": QueueCursor(), "w2": QueueCursor()}
    made = 0
    held: list[Claim] = []
    async with _working(bench) as connection:
        await ProcessLease("w2", ["q"]).register(connection)
        for _ in range(60):
            match rng.randrange(6):
                case 0 | 1:
                    count = rng.randrange(1, 20)
                    key = rng.choice([None, None, f"{made}-", "hot"])
                    await _fill(bench, count, age_s=rng.uniform(1, 100), key=key, priority=rng.choice([1, 100, 100, 7]))
                    made += count
                case 2 | 3:
                    worker_id = rng.choice(["w1", "w2"])
                    request: dict[str, Any] = {"worker_id": worker_id, "queue": "q", "fresh_s": 600}
                    response = await claim_jobs(
                        connection, wanted=rng.randrange(1, 30), cursor=turns[worker_id], **request
                    )
                    held += response.claims
                case 4:
                    rng.shuffle(held)
                    some = rng.randrange(len(held) + 1)
                    await _end(connection, held[:some], rng.choice(["succeeded", "succeeded", "returned"]))
                    del held[:some]
                case 5 if rng.random() < 0.3:
                    clock.pass_time()
        await _end(connection, held)
        for _ in range(3 * made):
            clock.pass_time()
            if not (claims := await _claim(connection, turns["w1"])):
                break
            await _end(connection, claims)
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 0
    assert await bench.value("SELECT count(*) FROM dl_jobs_done WHERE status = 'succeeded'") == made


async def test_a_worker_ends_jobs_of_every_kind(bench: Bench, scans_are_long: None) -> None:
    _register_tasks(bench)
    async with _pinned(bench), bench.working(concurrency=4, claim_backoff_s=3600.0):
        ids = []
        for number in range(60):
            ids.append(await bench.enqueue(lock_key=f"k{number % 3}", priority=number % 4))
            ids.append(await bench.enqueue("again", {"after_s": number % 2 * 0.2}))
            ids.append(await bench.enqueue(partition_key="tenant" if number % 10 == 0 else None))
        assert set(await bench.ended(*ids)) == {"succeeded"}


async def test_what_a_worker_promotes_itself_waits_for_no_full_scan(bench: Bench, clock: Clock) -> None:
    """The next job of a lock key, a retry and a delayed job are all older than the last claimed job."""
    _register_tasks(bench)
    async with bench.db.transaction() as tx:
        requests = [JobRequest("q", "noop", lock_key="hot") for _ in range(20)]
        requests += [JobRequest("q", "again", {"after_s": number % 2 * 0.5}) for number in range(20)]
        requests += [JobRequest("q", "noop") for _ in range(20)]
        responses = await bench.store.enqueue_many(tx, requests)
        await tx.execute("UPDATE dl_jobs SET created_at = created_at - interval '1 hour'")
    async with _pinned(bench), bench.working(concurrency=4, claim_backoff_s=3600.0):
        # Only the first scans are full.
        assert set(await bench.ended(*(response.job_id for response in responses), within_s=30.0)) == {"succeeded"}


async def test_delayed_jobs_promoted_before_are_not_scanned(bench: Bench, clock: Clock) -> None:
    looks = DelayedJobs(["q"])

    async def delay(count: int, until_s: float = -10.0) -> None:
        await bench.execute(
            "INSERT INTO dl_jobs (queue, task, waits_for, available_at) SELECT 'q', 'noop', 'time',"
            " clock_timestamp() + %s * interval '1 second' FROM generate_series(1, %s)",
            until_s,
            count,
        )

    async with _working(bench) as connection:
        await delay(500)
        assert len((await looks.promote(connection))[0]) == 500
        await delay(1, 3600.0)
        for _ in range(3):  # there is always one more
            await delay(1, 0.0)
            assert len((await looks.promote(connection))[0]) == 1
        taken = await _walked(connection, "dl_jobs_due", lambda: looks.promote(connection))
        naive = await _walked(connection, "dl_jobs_due", lambda: DelayedJobs(["q"]).promote(connection))
        assert naive >= 500
        assert taken <= 10
        await delay(3)  # behind the scan cursor
        promoted, again_s = await looks.promote(connection)
        assert promoted == []
        assert again_s is not None
        assert 0 < again_s <= 3600
        clock.pass_time()
        assert len((await looks.promote(connection))[0]) == 3


async def test_a_delayed_job_that_somebody_holds_is_promoted_when_it_is_free(bench: Bench, clock: Clock) -> None:
    looks = DelayedJobs(["q"])
    async with _working(bench) as connection:
        await bench.execute(
            "INSERT INTO dl_jobs (queue, task, waits_for, available_at)"
            " VALUES ('q', 'noop', 'time', clock_timestamp() - interval '1 s')"
        )
        async with bench.db.transaction() as tx:
            await tx.execute("SELECT FROM dl_jobs FOR UPDATE")
            for _ in range(3):
                promoted, again_s = await looks.promote(connection)
                assert promoted == []
                assert again_s == pytest.approx(0.02)  # not at once, again and again
        assert len((await looks.promote(connection))[0]) == 1


async def test_heartbeats_notice_all_without_walking_over_what_has_ended(
    bench: Bench, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = asyncio.Event()
    count = 0

    @bench.registry.register("wait")
    async def wait(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal count
        count += 1
        if count == 3:
            began.set()
        await asyncio.Event().wait()

    listed = 0
    listing = ProcessLease.held

    async def counted(row: ProcessLease, tx: Tx) -> Any:
        nonlocal listed
        listed += 1
        return await listing(row, tx)

    monkeypatch.setattr(ProcessLease, "held", counted)
    ids = [await bench.enqueue("wait") for _ in range(3)]
    async with _pinned(bench), bench.working(heartbeat_s=0.02, drain_grace_s=0.1) as worker:
        await began.wait()
        async with bench.db.transaction() as tx:
            await bench.store.cancel(tx, ids[0])
        assert await bench.ended(ids[0]) == ["canceled"]
        # The job is requeued: the run is stopped, and its outcome is ignored.
        await bench.execute("UPDATE dl_jobs SET claim_no = claim_no + 1 WHERE job_id = %s", ids[1])

        async def is_stopped() -> bool:
            return len(worker._runs) == 1

        await until(is_stopped)
    assert (await bench.job(ids[1])).status == "running"
    assert listed == 1


async def test_the_reaper_is_in_time_without_knowing_the_next_expiry(bench: Bench) -> None:
    reaper = Reaper(bench.db, reaper_period_s=3600.0)
    reaper._foreseeing.took(60.0)
    async with _working(bench) as connection, running(reaper):
        await _fill(bench, 1)
        (claim,) = await _claim(connection, QueueCursor())
        await bench.execute("UPDATE dl_jobs SET lease_ttl_sec = 1")

        async def is_back() -> bool:
            return bool((await bench.job(claim.job_id)).status == "queued")

        await until(is_back, within_s=30.0)


async def test_the_reaper_polls_less_often_when_that_takes_long_but_not_less_than_at_its_period(bench: Bench) -> None:
    reaper = Reaper(bench.db, reaper_period_s=10.0)
    reaper._foreseeing.took(60.0)
    assert await reaper._wait_s() == pytest.approx(0.5)
    reaper._reaping.took(0.1)
    assert 1.0 < await reaper._wait_s() <= 2.0
    reaper._reaping.took(60.0)
    assert await reaper._wait_s() == pytest.approx(10.0)


async def test_figures_that_take_long_are_gathered_less_often(
    bench: Bench, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    enough = asyncio.Event()

    class Counted(Housekeeping):
        async def vacuum(self) -> None:
            calls.append("vacuum")
            if len(calls) >= 20:
                enough.set()

        async def show_figures(self) -> None:
            calls.append("figures")
            await super().show_figures()

    for name in ("_VACUUM_PERIOD_S", "_FIGURES_PERIOD_S"):
        monkeypatch.setattr(housekeeping, name, 0.001)
    counted = Counted(bench.db, retention=None, forget_workers_s=3600.0)
    task = asyncio.create_task(counted.run())
    await enough.wait()
    task.cancel()
    await asyncio.wait([task])
    assert calls.count("figures") == 1
