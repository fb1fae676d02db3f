"""A job that repeatedly kills its worker is quarantined, and other jobs still run."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from classifeed_common.db import Database
from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_jobs import JobAdmin, JobContext, Reaper
from classifeed_jobs.claim.claim import Claim, Completion
from classifeed_jobs.claim.fetch import claim_jobs
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.testing import lost_lease
from classifeed_jobs.worker.isolation import Isolation
from classifeed_jobs.worker.process_lease import ProcessLease

from ..conftest import Bench, until

_SCRIPT = str(Path(__file__).with_name("worker_killer.py"))


class Pod:
    """Restarts a worker process after each exit, as a cluster does."""

    def __init__(self, database: Database, *options: str) -> None:
        self._database = database
        self._command = (sys.executable, _SCRIPT, database.dsn, *options)
        self.deaths = 0

    async def run(self, stop: asyncio.Event) -> None:
        async with AsyncExitStack() as losses:
            while not stop.is_set():
                process = await asyncio.create_subprocess_exec(*self._command)
                gone = asyncio.create_task(process.wait())
                stopping = asyncio.create_task(stop.wait())
                await asyncio.wait([gone, stopping], return_when=asyncio.FIRST_COMPLETED)
                stopping.cancel()
                if gone.done():
                    self.deaths += 1
                    await losses.enter_async_context(lost_lease(self._database, process.pid))
                else:
                    process.send_signal(signal.SIGTERM)
                    await gone


@pytest.fixture
async def marked(bench: Bench) -> Bench:
    await bench.execute("CREATE TABLE marks (job_id uuid, claim_no integer, mark text)")
    return bench


async def _neighbours_of_a_killer(bench: Bench, *options: str) -> tuple[int, Any, list[Any]]:
    endless: dict[str, Any] = {"max_attempts": None, "lease_ttl_s": 600}
    killer = await bench.enqueue("killer", {"after_s": 0.4}, **endless)
    neighbours = [await bench.enqueue("long", {"for_s": 2.0}, **endless) for _ in range(5)]
    pod = Pod(bench.db, *options)
    async with running(Reaper(bench.db, reaper_period_s=0.5)), running(pod):
        await bench.ended(killer, *neighbours, within_s=300)
    return pod.deaths, await bench.job(killer), [await bench.job(job_id) for job_id in neighbours]


@pytest.mark.slow
async def test_killer_is_quarantined_at_its_third_death_and_its_neighbours_are_not(marked: Bench) -> None:
    deaths, killer, neighbours = await _neighbours_of_a_killer(marked)
    assert deaths == 3
    assert (killer.status, killer.reason, killer.worker_deaths) == ("failed", "QUARANTINED", 3)
    assert "died 3 times" in killer.error
    # It may have been claimed and requeued while others ran.
    kinds = [kind for kind in await marked.kinds(killer.job_id) if kind not in {"picked", "returned"}]
    assert kinds == ["queued", *["heartbeat_lost", "requeued"] * 2, "heartbeat_lost", "quarantined", "failed"]
    assert [job.status for job in neighbours] == ["succeeded"] * 5
    # It died twice while others ran, and the third time alone.
    assert max(job.worker_deaths for job in neighbours) <= 2


@pytest.mark.slow
@in_campaigns
async def test_naive_way_holds_the_deaths_against_the_neighbours(marked: Bench) -> None:
    _, killer, neighbours = await _neighbours_of_a_killer(marked, "naive")
    assert killer.reason == "QUARANTINED"
    assert "QUARANTINED" in [job.reason for job in neighbours]


@pytest.mark.slow
@in_campaigns
async def test_job_that_keeps_its_process_from_renewing_is_quarantined_too(marked: Bench) -> None:
    """The process never died, but could run no other job."""
    job_id = await marked.enqueue("stall", {"for_s": 6.0}, max_attempts=None, lease_ttl_s=1)
    async with running(Reaper(marked.db, reaper_period_s=0.5)), running(Pod(marked.db)):
        assert await marked.ended(job_id, within_s=300) == ["failed"]
    assert (await marked.job(job_id)).reason == "QUARANTINED"


async def lose(bench: Bench, job_id: Any, *, worker_id: str = "w1") -> None:
    """Claim a job and expire its lease, without waiting."""
    async with bench.db.connection() as connection:
        await ProcessLease(worker_id, ["q"]).register(connection)
        (claim,) = (await claim_jobs(connection, worker_id=worker_id, queue="q", wanted=1, fresh_s=60)).claims
        assert claim.job_id == job_id
        await connection.execute("UPDATE dl_workers SET renewed_at = clock_timestamp() - interval '10 minutes'")


async def lose_and_reap(bench: Bench, job_id: Any) -> list[str]:
    await lose(bench, job_id)
    return [one.outcome for one in await Reaper(bench.db).reap()]


async def test_third_loss_ends_a_job_without_attempt_limit_and_an_operator_retries_it(bench: Bench) -> None:
    job_id = await bench.enqueue(max_attempts=None, lock_key="k")
    waiting = await bench.enqueue(max_attempts=None, lock_key="k", priority=200)
    assert [await lose_and_reap(bench, job_id) for _ in range(3)] == [["lost"], ["lost"], ["failed"]]
    job = await bench.job(job_id)
    assert (job.status, job.reason, job.worker_deaths) == ("failed", "QUARANTINED", 3)
    assert await bench.value("SELECT count(*) FROM dl_job_locks") == 0
    assert await lose_and_reap(bench, waiting) == ["lost"], "the key is free"
    await JobAdmin(bench.db, bench.store).retry(job_id, by="anna")
    job = await bench.job(job_id)
    assert (job.status, job.reason, job.worker_deaths, job.attempt) == ("queued", None, 0, 0)
    assert [await lose_and_reap(bench, job_id) for _ in range(3)] == [["lost"], ["lost"], ["failed"]]


async def test_attempts_end_a_job_before_and_a_limit_of_none_never_quarantines(bench: Bench) -> None:
    limited = await bench.enqueue(max_attempts=2)
    assert [await lose_and_reap(bench, limited) for _ in range(2)] == [["lost"], ["failed"]]
    assert (await bench.job(limited)).reason is None
    endless = await bench.enqueue(max_attempts=None, max_worker_deaths=None)
    assert [await lose_and_reap(bench, endless) for _ in range(6)] == [["lost"]] * 6


async def claim_one(bench: Bench) -> Claim:
    async with bench.db.connection() as connection:
        await ProcessLease("w1", ["q"]).register(connection)
        (claim,) = (await claim_jobs(connection, worker_id="w1", queue="q", wanted=1, fresh_s=60)).claims
    return claim


async def end(bench: Bench, claim: Claim, outcome: str) -> None:
    async with bench.db.transaction() as tx:
        await complete_claims(tx, [Completion(claim.job_id, claim.claim_no, outcome, max_faults=5)])


@pytest.mark.parametrize(("outcome", "deaths"), [("retry", 0), ("snoozed", 2), ("returned", 2), ("fault", 2)])
async def test_deaths_are_forgotten_when_a_run_ends_by_itself(bench: Bench, outcome: str, deaths: int) -> None:
    job_id = await bench.enqueue(max_attempts=None)
    for _ in range(2):
        await lose_and_reap(bench, job_id)
    await end(bench, await claim_one(bench), outcome)
    assert (await bench.job(job_id)).worker_deaths == deaths


async def test_deaths_and_faults_are_forgotten_when_the_job_comes_further(bench: Bench) -> None:
    job_id = await bench.enqueue(max_attempts=None)
    await lose_and_reap(bench, job_id)
    await end(bench, await claim_one(bench), "fault")
    claim = await claim_one(bench)
    job = await bench.job(job_id)
    assert (job.worker_deaths, job.unknown_faults) == (1, 1)
    context = JobContext(claim, bench.db, None, asyncio.get_running_loop())
    async with bench.db.transaction() as tx:
        await context.save_checkpoint(tx, {"slice": 2})
    job = await bench.job(job_id)
    assert (job.worker_deaths, job.unknown_faults) == (0, 0)


async def test_job_that_one_more_death_would_quarantine_runs_alone(bench: Bench) -> None:
    together: list[tuple[str, int]] = []
    under_way: set[str] = set()
    go_on = asyncio.Event()

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        under_way.add(args["name"])
        together.append((args["name"], len(under_way)))
        if args["name"] == "first":
            await go_on.wait()
        await asyncio.sleep(0.01)
        under_way.discard(args["name"])

    first = await bench.enqueue("noop", {"name": "first"}, priority=1)
    suspects = [await bench.enqueue("noop", {"name": f"suspect {n}"}, priority=2) for n in range(20)]
    others = [await bench.enqueue("noop", {"name": f"other {n}"}, priority=n % 3 + 1) for n in range(30)]
    await bench.execute("UPDATE dl_jobs SET worker_deaths = 2 WHERE job_id = ANY(%s)", suspects)
    async with bench.working(10, claim_backoff_s=60.0):

        async def is_given_back() -> bool:
            return bool(await bench.value("SELECT count(*) > 0 FROM dl_job_events WHERE kind = 'returned'"))

        await until(is_given_back)
        assert not any(name.startswith("suspect") for name, _ in together), "it waits for what runs beside it"
        go_on.set()
        assert set(await bench.ended(first, *suspects, *others)) == {"succeeded"}
    assert {count for name, count in together if name.startswith("suspect")} == {1}
    assert max(count for name, count in together if name.startswith("other")) > 1
    # One claim of many jobs, then one at a time: requeued jobs are not claimed repeatedly.
    assert await bench.value("SELECT count(*) FROM dl_job_events WHERE kind = 'returned'") < 60


async def test_after_a_suspect_of_one_queue_the_others_go_on(bench: Bench) -> None:
    """Without waiting for the next poll."""

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None:
        await asyncio.sleep(args["for_s"])

    long = [await bench.enqueue("noop", {"for_s": 0.3}, queue="a") for _ in range(2)]
    suspect = await bench.enqueue("noop", {"for_s": 0.05}, queue="b")
    await bench.execute("UPDATE dl_jobs SET worker_deaths = 2 WHERE job_id = %s", suspect)
    rest = [await bench.enqueue("noop", {"for_s": 0.0}, queue=queue) for queue in "ab" for _ in range(20)]
    from classifeed_jobs import Worker

    worker = Worker(bench.db, bench.store, bench.registry, queues={"a": 2, "b": 2}, claim_backoff_s=600.0)
    async with running(worker):
        assert set(await bench.ended(*long, suspect, *rest, within_s=60)) == {"succeeded"}


def test_isolation_in_its_states() -> None:
    def claim(runs_alone: int) -> Claim:
        return Claim(None, 1, "q", "t", {}, None, None, 1, None, 60, None, None, 0.0, bool(runs_alone))  # type: ignore[arg-type]

    isolation = Isolation()
    assert (isolation.room(5), isolation.over()) == (5, None)
    assert isolation.may_start(claim(0), is_idle=True)
    assert not isolation.may_start(claim(1), is_idle=False), "others run"
    assert (isolation.room(5), isolation.over(), isolation.room(5)) == (0, "q", 1)
    assert isolation.may_start(claim(1), is_idle=True)
    assert not isolation.may_start(claim(0), is_idle=False), "it runs alone"
    assert not isolation.may_start(claim(2), is_idle=False)
    assert (isolation.room(5), isolation.over(), isolation.over()) == (0, "q", None)
    assert isolation.room(5) == 1, "there may be more of them"
    assert isolation.may_start(claim(0), is_idle=True)
    assert isolation.room(5) == 5


def test_job_that_lives_long_alone_has_others_beside_it_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("classifeed_jobs.worker.isolation.monotonic", lambda: now)
    alone = Claim(None, 1, "q", "t", {}, None, None, 1, None, 60, None, None, 0.0, True)  # type: ignore[arg-type]
    isolation = Isolation()
    assert isolation.may_start(alone, is_idle=True)
    now += 599
    assert isolation.room(5) == 0
    now += 2
    assert isolation.room(5) == 1
    assert isolation.may_start(alone._replace(runs_alone=False), is_idle=False)
    assert (isolation.room(5), isolation.over(), isolation.over()) == (5, "q", None)


class Outage:
    """A database with an outage for the reaper only."""

    def __init__(self, database: Any) -> None:
        self._db = database
        self.is_away = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def transaction(self, **options: Any) -> Any:
        if self.is_away:
            raise psycopg.OperationalError("the server is away")
        return self._db.transaction(**options)


@pytest.mark.parametrize("grace_s", [2.0, 0.0])
async def test_after_a_standstill_living_processes_come_back_before_anything_is_taken(
    bench: Bench, grace_s: float
) -> None:
    """Their leases expired while they could not be renewed; without the grace time, their jobs would be requeued."""
    job_id = await bench.enqueue(max_attempts=None, lease_ttl_s=1)
    claim = await claim_one(bench)
    lease = ProcessLease("w1", ["q"])
    outage = Outage(bench.db)
    reaper = Reaper(outage, reaper_period_s=0.1, grace_s=grace_s)  # type: ignore[arg-type]
    async with running(reaper):
        outage.is_away = True
        async with bench.db.connection() as connection:
            await lease.renew(connection)

            async def is_expired() -> bool:
                return bool(
                    await bench.value("SELECT clock_timestamp() - renewed_at > interval '1.5 s' FROM dl_workers")
                )

            await until(is_expired)
            outage.is_away = False
            if grace_s:
                looked = reaper._polled_at

                async def has_polled() -> bool:
                    return reaper._polled_at != looked

                await until(has_polled)
                await lease.renew(connection)
                assert (await bench.job(job_id)).claim_no == claim.claim_no
                assert "heartbeat_lost" not in await bench.kinds(job_id)
            else:

                async def is_lost() -> bool:
                    return "heartbeat_lost" in await bench.kinds(job_id)

                await until(is_lost)


async def test_gap_in_the_databases_time_is_a_standstill_too(bench: Bench) -> None:
    reaper = Reaper(bench.db, reaper_period_s=0.1, grace_s=60.0)
    assert await reaper._held_s() == 0
    assert await reaper._held_s() == 0
    reaper._polled_at = await bench.value("SELECT clock_timestamp() - interval '10 seconds'")
    assert 50 < await reaper._held_s() <= 60
    assert 50 < await reaper._held_s() <= 60, "until it is over"
