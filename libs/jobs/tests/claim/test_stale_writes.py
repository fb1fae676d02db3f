"""Many stale writes: completions, heartbeats and progress of lost claims, in one statement with those of held claims.

Seeded random steps over some hundred jobs, in batches as from processes. After each step, the tables are compared with
the writes of the holders only. 50,000 stale writes by default, a million with CLASSIFEED_CAMPAIGN=long.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from classifeed_common.db import Tx
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_jobs import JobRequest, Progress, Reaper
from classifeed_jobs.claim import finish as claims
from classifeed_jobs.claim import guard
from classifeed_jobs.claim.claim import Completion
from classifeed_jobs.claim.fetch import claim_jobs
from classifeed_jobs.claim.finish import complete_claims, complete_plain_claims
from classifeed_jobs.claim.guard import save_progress
from classifeed_jobs.worker import process_lease as lease_row
from classifeed_jobs.worker.process_lease import ProcessLease

from ..conftest import Bench

_STALE_WRITES = 1_000_000 if IS_LONG else 20_000
_SEED = 20
_JOBS = 200
_STALE_BATCH = 400
_HELD_BATCH = 15
_WORKERS = ("w1", "w2", "w3")
_FINAL = ("succeeded", "failed", "canceled")
_OUTCOMES = (*_FINAL, "retry", "returned")
_ROWS = (
    "SELECT j.job_id, j.status, j.claim_no, j.claimed_by, (j.progress ->> 'processed')::integer, l.worker_id "
    "FROM dl_jobs j LEFT JOIN dl_job_locks l USING (job_id)"
)
_SILENCE = "UPDATE dl_workers SET renewed_at = clock_timestamp() - interval '1 day' WHERE worker_id = %s"
_RENEWED = "SELECT worker_id, renewed_at FROM dl_workers WHERE worker_id <> %s ORDER BY 1"


@dataclass
class Held:
    """A live job, in the state that its holders have written."""

    lock_key: str | None
    claim_no: int = 0
    worker: str | None = None
    progress: int | None = None
    lost: list[tuple[int, str]] = field(default_factory=list)

    @property
    def row(self) -> tuple[Any, ...]:
        holds_key = self.worker if self.lock_key is not None else None
        status = "running" if self.worker is not None else "queued"
        return status, self.claim_no, self.worker, self.progress, holds_key


class Crowd:
    """Processes that claim, lose their leases and write again, compared with a model in memory."""

    def __init__(self, bench: Bench, connection: Tx) -> None:
        self._bench = bench
        self._connection = connection
        self._rng = random.Random(_SEED)
        self._jobs: dict[UUID, Held] = {}
        self._ended: list[tuple[UUID, int, str]] = []
        self._made = 0
        self.journal: Counter[str] = Counter()
        self.stale: Counter[str] = Counter()
        self.overtaken = 0

    async def run(self) -> None:
        for worker in _WORKERS:
            await ProcessLease(worker, ["q"]).register(self._connection)
        honest = (self._claim, self._claim, self._lose, self._report_held)
        stale = (self._finish_late, self._beat_late, self._report_late)
        while self.stale.total() < _STALE_WRITES:
            await self._enqueue()
            await self._rng.choice(honest)()
            await self._rng.choice(stale)()
            await self._compare()

    async def _enqueue(self) -> None:
        requests = []
        for _ in range(_JOBS - len(self._jobs)):
            self._made += 1
            key = f"k{self._made % 60}" if self._made % 3 == 0 else None
            endless: dict[str, Any] = {"max_attempts": None, "max_worker_deaths": None}
            requests.append(JobRequest("q", "noop", lock_key=key, lease_ttl_s=3600, **endless))
        async with self._connection.transaction():
            made = await self._bench.store.enqueue_many(self._connection, requests)
        for job, request in zip(made, requests, strict=True):
            self._jobs[job.job_id] = Held(request.lock_key)
        self.journal["queued"] += len(made)

    async def _claim(self) -> None:
        worker = self._rng.choice(_WORKERS)
        response = await claim_jobs(
            self._connection, worker_id=worker, queue="q", wanted=self._rng.randint(20, 100), fresh_s=600
        )
        for claim in response.claims:
            job = self._jobs[claim.job_id]
            assert (job.worker, claim.claim_no) == (None, job.claim_no + 1)
            job.worker, job.claim_no = worker, claim.claim_no
        self.journal["picked"] += len(response.claims)

    async def _lose(self) -> None:
        """Stop a process for longer than its lease; when it continues, it does not know which claims it has lost."""
        worker = self._rng.choice(_WORKERS)
        await self._connection.execute(_SILENCE, [worker])
        taken = {one.job_id for one in await Reaper(self._bench.db).reap()}
        assert taken == {job_id for job_id, job in self._jobs.items() if job.worker == worker}
        for job_id in taken:
            job = self._jobs[job_id]
            job.lost.append((job.claim_no, worker))
            job.worker = None
        self.journal.update({"heartbeat_lost": len(taken), "requeued": len(taken)})
        assert await ProcessLease(worker, ["q"]).renew(self._connection)

    async def _report_held(self) -> None:
        reports = {(job_id, no): Progress(self._rng.randrange(1000)) for job_id, no, _ in self._held()}
        await save_progress(self._connection, reports)
        for (job_id, _), report in reports.items():
            self._jobs[job_id].progress = report.processed

    async def _finish_late(self) -> None:
        """Write completions as a process does: late ones, mixed with those of held claims."""
        late = self._late("end")
        held = self._held()[:_HELD_BATCH]
        completions = [Completion(job_id, no, self._rng.choice(_OUTCOMES)) for job_id, no, _ in (*late, *held)]
        self._rng.shuffle(completions)
        request = {(completion.job_id, completion.claim_no): completion.outcome for completion in completions}
        expected = {(job_id, no): request[job_id, no] for job_id, no, _ in held}
        heard = await self._end(completions)
        assert dict(heard) == expected, "a stale end was heard"
        assert len(heard) == len(held), "an end was heard twice"
        for job_id, no, worker in held:
            outcome = request[job_id, no]
            self.journal[outcome] += 1
            self._jobs[job_id].worker = None
            self._jobs[job_id].lost.append((no, worker))
            if outcome in _FINAL:
                self._ended += [(job_id, *lost) for lost in self._jobs.pop(job_id).lost]
        del self._ended[:-_STALE_BATCH]

    async def _end(self, completions: list[Completion]) -> list[tuple[tuple[UUID, int], str]]:
        """Complete claims by both statements, as the worker chooses them; return the accepted completions."""
        keyless = [
            completion._replace(needs_transaction=self._has_key(completion.job_id)) for completion in completions
        ]
        plain = [completion for completion in keyless if completion.is_plain]
        others = [completion for completion in keyless if not completion.is_plain]
        refused = (await complete_plain_claims(self._connection, plain)).refused if plain else []
        async with self._connection.transaction():
            ended = await complete_claims(self._connection, others)
        finished = [((one.job_id, one.claim_no), one.outcome) for one in plain if one not in refused]
        return finished + [((one.job_id, one.claim_no), one.outcome) for one in ended]

    def _has_key(self, job_id: UUID) -> bool:
        return job_id in self._jobs and self._jobs[job_id].lock_key is not None

    async def _beat_late(self) -> None:
        """Renew the row of a process and read its claims: only held claims are renewed and returned."""
        worker = self._rng.choice(_WORKERS)
        others = await (await self._connection.execute(_RENEWED, [worker])).fetchall()
        lease = ProcessLease(worker, ["q"])
        assert await lease.renew(self._connection)
        held = set(await lease.held(self._connection))
        late = {(job_id.int, no) for job_id, no, _ in self._late("heartbeat", worker)}
        assert not held & late, "a stale heartbeat was heard"
        assert held == {(job_id.int, no) for job_id, no, holder in self._held() if holder == worker}
        assert await (await self._connection.execute(_RENEWED, [worker])).fetchall() == others

    async def _report_late(self) -> None:
        await save_progress(self._connection, {(job_id, no): Progress(-1) for job_id, no, _ in self._late("progress")})

    def _held(self) -> list[tuple[UUID, int, str]]:
        held = [(job_id, job.claim_no, job.worker) for job_id, job in self._jobs.items() if job.worker is not None]
        return self._rng.sample(held, len(held))

    def _late(self, kind: str, worker: str | None = None) -> list[tuple[UUID, int, str]]:
        """Return claims that were lost or completed: of jobs that wait, that run elsewhere, or that are complete."""
        known = [(job_id, *lost) for job_id, job in self._jobs.items() for lost in job.lost] + self._ended
        late = [claim for claim in known if worker in {None, claim[2]}]
        late = self._rng.sample(late, min(len(late), _STALE_BATCH))
        self.stale[kind] += len(late)
        self.overtaken += sum(job_id in self._jobs and self._jobs[job_id].worker is not None for job_id, _, _ in late)
        return late

    async def _compare(self) -> None:
        rows = await (await self._connection.execute(_ROWS)).fetchall()
        assert {row[0]: row[1:] for row in rows} == {job_id: job.row for job_id, job in self._jobs.items()}, (
            "a stale write is in the tables"
        )


async def _run_crowd(bench: Bench) -> Crowd:
    with capture_logs():  # the reaper logs each job that it requeues
        async with bench.db.dedicated_connection() as connection:
            crowd = Crowd(bench, connection)
            await crowd.run()
    return crowd


@pytest.mark.slow
@pytest.mark.timeout(7200 if IS_LONG else 1200)
async def test_stale_ends_heartbeats_and_progress_are_refused_a_hundred_thousand_times(bench: Bench) -> None:
    crowd = await _run_crowd(bench)
    assert crowd.stale.total() >= _STALE_WRITES
    assert min(crowd.stale[kind] for kind in ("end", "heartbeat", "progress")) >= _STALE_WRITES / 10
    assert crowd.overtaken >= _STALE_WRITES / 10, "too few of them spoke of a job that another claim runs"
    assert crowd.journal == dict(await bench.execute("SELECT kind, count(*) FROM dl_job_events GROUP BY 1"))


@pytest.mark.parametrize(
    ("module", "statement", "fence", "naive", "seen"),
    [
        (claims, "_END", "AND j.claim_no = e.claim_no", "", "a stale end was heard"),
        (claims, "_FINISH", "AND j.claim_no = e.claim_no", "", "a stale (end was heard|write is in the tables)"),
        (guard, "_SAVE_PROGRESS", "AND j.claim_no = p.claim_no", "", "a stale write is in the tables"),
        (lease_row, "_HELD", "j.claim_no, j", "generate_series(1, j.claim_no), j", "a stale heartbeat was heard"),
    ],
)
async def test_writes_by_the_jobs_id_alone_are_caught(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, module: Any, statement: str, fence: str, naive: str, seen: str
) -> None:
    fenced = getattr(module, statement)
    assert fence in fenced
    monkeypatch.setattr(module, statement, fenced.replace(fence, naive))
    with pytest.raises(AssertionError, match=seen):
        await _run_crowd(bench)
