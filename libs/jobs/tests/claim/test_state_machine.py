"""Interleavings of enqueue, claim, completion (current and stale), cancel, retry, expiry, reaping, pauses and limits,
compared with a model in memory.

Some 3,000 steps by default (about a minute), 600,000 with CLASSIFEED_CAMPAIGN=long.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_devkit.testing.databases import DatabaseServer
from classifeed_jobs import ClaimLost, JobStore, QueueLimits, Queues, ddl
from classifeed_jobs.claim.claim import Claim, Completion
from classifeed_jobs.claim.delayed import DelayedJobs
from classifeed_jobs.claim.fetch import QueueCursor, claim_jobs
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.claim.guard import guard_claim
from classifeed_jobs.claim.limits import claim_within_limits
from classifeed_jobs.maintenance.reaper import _LOCK_LOST
from classifeed_jobs.schema.ddl import VERSIONS
from classifeed_jobs.worker.process_lease import ProcessLease

_EXAMPLES = 3_000 if IS_LONG else 15
_WORKERS = ("w1", "w2")
_MAX_FAULTS = 2
_OUTCOMES = ("succeeded", "failed", "canceled", "retry", "fault", "snoozed", "returned", "kept")


@dataclass
class Model:
    """Expected state of a job."""

    order: tuple[int, int]
    lock_key: str | None
    max_attempts: int | None
    status: str = "queued"
    attempt: int = 0
    claim_no: int = 0
    worker: str | None = None
    is_due: bool = True
    cancel_requested: bool = False
    partition_key: str | None = None
    max_worker_deaths: int | None = None
    worker_deaths: int = 0
    unknown_faults: int = 0
    reason: str | None = None


class JobMachine(RuleBasedStateMachine):
    """Interleavings of committed statements on one connection; statements that block each other have separate tests."""

    dsn: str

    @initialize(has_partitions=st.booleans())
    def begin(self, has_partitions: bool) -> None:
        self.has_partitions = has_partitions
        self.runner = asyncio.Runner()
        self.store = JobStore()
        self.jobs: dict[UUID, Model] = {}
        self.claims: list[Claim] = []
        self.silent: set[str] = set()
        self.is_paused = False
        self.max_running: int | None = None
        self.runner.run(self._begin())
        for _ in range(4):
            self.enqueue("a", None, 2, True, None, None)
        for partition_key in ("p", "p", "p", "r", None):
            self.enqueue(None, None, 2, True, partition_key, 2)

    async def _begin(self) -> None:
        self.db = await psycopg.AsyncConnection.connect(self.dsn, autocommit=True)
        await self.db.execute(
            "TRUNCATE dl_jobs, dl_jobs_done, dl_job_events, dl_job_locks, dl_job_keys, dl_workers, dl_queues"
        )
        for worker in _WORKERS:
            await ProcessLease(worker, ["q"]).register(self.db)

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        try:
            self._nothing_stays_behind()
        finally:
            self.runner.run(self.db.close())
            self.runner.close()

    def _nothing_stays_behind(self) -> None:
        """Claim and complete until no job is left: after any history, every job completes."""
        for job_id in [job_id for job_id, model in self.jobs.items() if model.status == "running"]:
            self._end(job_id, self.jobs[job_id].claim_no, "succeeded")
        self.make_due()
        self.pause(False)
        self.limit(None)
        for worker in sorted(self.silent):
            self.renew(worker)
        while self._claim("w1", 3):
            for job_id in [job_id for job_id, model in self.jobs.items() if model.status == "running"]:
                self._end(job_id, self.jobs[job_id].claim_no, "succeeded")
        assert all(model.status in {"succeeded", "failed", "canceled"} for model in self.jobs.values()), self.jobs

    @rule(
        lock_key=st.sampled_from([None, "a", "a", "a", "b"]),
        max_attempts=st.sampled_from([None, None, 1, 2]),
        priority=st.integers(1, 3),
        is_due=st.sampled_from([True, True, False]),
        partition_key=st.sampled_from([None, "p", "p", "r"]),
        max_worker_deaths=st.sampled_from([None, 1, 2]),
    )
    def enqueue(
        self,
        lock_key: str | None,
        max_attempts: int | None,
        priority: int,
        is_due: bool,
        partition_key: str | None,
        max_worker_deaths: int | None,
    ) -> None:
        partition_key = partition_key if self.has_partitions else None

        async def put() -> UUID:
            async with self.db.transaction():
                job = await self.store.enqueue(
                    self.db,
                    "q",
                    "t",
                    {},
                    lock_key=lock_key,
                    max_attempts=max_attempts,
                    priority=priority,
                    partition_key=partition_key,
                    max_worker_deaths=max_worker_deaths,
                )
                if not is_due:
                    await self.db.execute(
                        "UPDATE dl_jobs SET available_at = clock_timestamp() + interval '1 day', waits_for = 'time' "
                        "WHERE job_id = %s",
                        [job.job_id],
                    )
            return job.job_id

        self.jobs[self.runner.run(put())] = Model(
            (priority, len(self.jobs)),
            lock_key,
            max_attempts,
            is_due=is_due,
            partition_key=partition_key,
            max_worker_deaths=max_worker_deaths,
        )

    @rule()
    def make_due(self) -> None:
        async def move() -> None:
            await self.db.execute("UPDATE dl_jobs SET available_at = clock_timestamp() WHERE waits_for = 'time'")

        self.runner.run(move())
        for model in self.jobs.values():
            model.is_due = True

    @rule(worker=st.sampled_from(_WORKERS), wanted=st.integers(1, 4))
    def claim(self, worker: str, wanted: int) -> None:
        self._claim(worker, wanted)

    def _claim(self, worker: str, wanted: int) -> int:
        room = wanted
        if self.max_running is not None:
            room = min(wanted, self.max_running - sum(model.status == "running" for model in self.jobs.values()))

        async def take() -> list[Claim]:
            await DelayedJobs(["q"]).promote(self.db)
            request: dict[str, Any] = {"worker_id": worker, "queue": "q", "wanted": wanted, "fresh_s": 600}
            response = await claim_jobs(self.db, **request)
            if self.is_paused or self.max_running is not None:
                assert response.claims == []
                within = await claim_within_limits(self.db, **request, cursor=QueueCursor())
                assert within is not None
                response = within
            elif worker in self.silent:
                assert not response.is_registered
            assert response.contended == 0
            return response.claims

        claims = self.runner.run(take())
        if worker in self.silent or self.is_paused or room <= 0:
            assert claims == []
        else:
            self._check_choice([claim.job_id for claim in claims], room)
        for claim in claims:
            model = self.jobs[claim.job_id]
            model.status, model.worker = "running", worker
            model.attempt += 1
            model.claim_no += 1
            assert (claim.claim_no, claim.attempt) == (model.claim_no, model.attempt)
            deaths, limit = model.worker_deaths, model.max_worker_deaths
            assert claim.runs_alone == (limit is not None and 0 < deaths >= limit - 1)
        self.claims += claims
        return len(claims)

    def _claimable(self, wanted: int) -> list[UUID]:
        held = {model.lock_key for model in self.jobs.values() if model.status == "running"} - {None}
        found: list[UUID] = []
        for job_id, model in sorted(self.jobs.items(), key=lambda item: item[1].order):
            if model.status == "queued" and model.is_due and model.lock_key not in held and len(found) < wanted:
                found.append(job_id)
                held |= {model.lock_key} - {None}
        return found

    def _check_choice(self, taken: list[UUID], wanted: int) -> None:
        """Check the order: by priority, then by rotation of partition keys, then by age."""
        queued = [model for model in self.jobs.values() if model.status == "queued"]
        if all(model.partition_key is None for model in queued):
            assert taken == self._claimable(wanted)
            return
        models = [self.jobs[job_id] for job_id in taken]
        assert len(taken) == min(wanted, len(self._claimable(len(self.jobs))))
        keys = [model.lock_key for model in models if model.lock_key is not None]
        assert len(keys) == len(set(keys)), "two of one key"
        held = {model.lock_key for model in self.jobs.values() if model.status == "running"} - {None}
        assert not held & set(keys), "a held key"
        left = [
            model
            for model in queued
            if model.is_due and model not in models and model.lock_key not in (held | set(keys)) - {None}
        ]
        for model in left:
            assert all(model.order[0] >= other.order[0] for other in models), "an urgent one was passed over"
            lane = [one for one in models if (one.partition_key, one.order[0]) == (model.partition_key, model.order[0])]
            assert all(one.order < model.order for one in lane), "a younger one of the same partition went first"

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), outcome=st.sampled_from(_OUTCOMES), delay_s=st.sampled_from([0.0, 86400.0]))
    def end(self, data: st.DataObject, outcome: str, delay_s: float) -> None:
        """Complete any claim ever made: only the completion of the held claim is accepted."""
        claim = data.draw(st.sampled_from(self.claims))
        self._end(claim.job_id, claim.claim_no, outcome, delay_s)

    @precondition(lambda self: self._overtaken())
    @rule(data=st.data(), outcome=st.sampled_from(_OUTCOMES))
    def end_overtaken(self, data: st.DataObject, outcome: str) -> None:
        """Write the most dangerous stale completions: another worker runs the job now."""
        claim = data.draw(st.sampled_from(self._overtaken()))
        self._end(claim.job_id, claim.claim_no, outcome)

    def _overtaken(self) -> list[Claim]:
        return [
            claim
            for claim in self.claims
            if self.jobs[claim.job_id].status == "running" and self.jobs[claim.job_id].claim_no != claim.claim_no
        ]

    def _end(self, job_id: UUID, claim_no: int, outcome: str, delay_s: float = 0.0) -> None:
        async def say() -> list[str]:
            async with self.db.transaction():
                completion = Completion(job_id, claim_no, outcome, delay_s=delay_s, max_faults=_MAX_FAULTS)
                ended = await complete_claims(self.db, [completion])
            return [one.outcome for one in ended]

        response = self.runner.run(say())
        model = self.jobs[job_id]
        if model.status != "running" or model.claim_no != claim_no:
            assert response == []
            return
        assert response == [self._model_end(model, outcome, delay_s)]

    def _model_end(self, model: Model, outcome: str, delay_s: float) -> str:
        is_final = outcome in {"succeeded", "failed", "canceled"}
        attempts_are_used = model.max_attempts is not None and model.attempt >= model.max_attempts
        model.worker_deaths = {"lost": model.worker_deaths + 1, "retry": 0}.get(outcome, model.worker_deaths)
        model.unknown_faults += outcome == "fault"
        is_deadly = model.max_worker_deaths is not None and model.worker_deaths >= model.max_worker_deaths
        if outcome == "kept":
            outcome = "snoozed"
        elif not is_final and model.cancel_requested:
            outcome = "canceled"
        elif outcome == "fault" and model.unknown_faults >= _MAX_FAULTS:
            outcome, model.reason = "failed", "UNKNOWN_FAULTS"
        elif outcome == "lost" and is_deadly:
            outcome, model.reason = "failed", "QUARANTINED"
        elif outcome in {"retry", "fault", "lost"} and attempts_are_used:
            outcome = "failed"
        outcome = "retry" if outcome == "fault" else outcome
        model.worker = None
        if outcome in {"succeeded", "failed", "canceled"}:
            model.status = outcome
            return outcome
        model.status = "queued"
        model.attempt -= outcome in {"snoozed", "returned"}
        model.is_due = delay_s == 0
        return outcome

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        queued = [job_id for job_id, model in sorted(self.jobs.items()) if model.status == "queued"]
        job_id = data.draw(st.sampled_from(queued[:2] + sorted(self.jobs)))

        async def ask() -> Any:
            async with self.db.transaction():
                return await self.store.cancel(self.db, job_id)

        response = self.runner.run(ask())
        model = self.jobs[job_id]
        if model.status == "queued":
            model.status, model.cancel_requested = "canceled", True
        elif model.status == "running":
            model.cancel_requested = True
        assert (response.status, response.cancel_requested) == (model.status, model.cancel_requested)

    @precondition(lambda self: any(model.status in {"succeeded", "failed", "canceled"} for model in self.jobs.values()))
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        ended = [job_id for job_id, model in self.jobs.items() if model.status in {"succeeded", "failed", "canceled"}]
        job_id = data.draw(st.sampled_from(sorted(ended)))

        async def ask() -> bool:
            async with self.db.transaction():
                return await self.store.retry(self.db, job_id)

        model = self.jobs[job_id]
        assert self.runner.run(ask()) == (model.status != "succeeded")
        if model.status != "succeeded":
            model.status, model.attempt, model.cancel_requested, model.is_due = "queued", 0, False, True
            model.worker_deaths, model.unknown_faults, model.reason = 0, 0, None

    @rule(is_paused=st.booleans())
    def pause(self, is_paused: bool) -> None:
        async def ask() -> None:
            async with self.db.transaction():
                await (Queues().pause(self.db, "q") if is_paused else Queues().resume(self.db, "q"))

        self.runner.run(ask())
        self.is_paused = is_paused

    @rule(max_running=st.sampled_from([None, None, 1, 3]))
    def limit(self, max_running: int | None) -> None:
        async def ask() -> None:
            async with self.db.transaction():
                await Queues().set_limits(self.db, "q", QueueLimits(max_running=max_running))

        self.runner.run(ask())
        self.max_running = max_running

    @rule(worker=st.sampled_from(_WORKERS))
    def fall_silent(self, worker: str) -> None:
        async def age() -> None:
            await self.db.execute(
                "UPDATE dl_workers SET renewed_at = clock_timestamp() - interval '1 day' WHERE worker_id = %s", [worker]
            )

        self.runner.run(age())
        self.silent.add(worker)

    @rule(worker=st.sampled_from(_WORKERS))
    def lose_everything(self, worker: str) -> None:
        """Run the three steps without an interleaving."""
        self.fall_silent(worker)
        self.reap()
        self.renew(worker)

    @rule(worker=st.sampled_from(_WORKERS))
    def renew(self, worker: str) -> None:
        assert self.runner.run(ProcessLease(worker, ["q"]).renew(self.db))
        self.silent.discard(worker)

    @rule()
    def reap(self) -> None:
        async def take_back() -> dict[UUID, str]:
            async with self.db.transaction():
                rows = await (
                    await self.db.execute(_LOCK_LOST, {"limit": 100, "tasks": [], "is_hooked": False, "without": []})
                ).fetchall()
                ended = await complete_claims(
                    self.db, [Completion(job_id, claim_no, "lost") for job_id, claim_no in rows]
                )
            return {one.job_id: one.outcome for one in ended}

        expected = {
            job_id: self._model_end(model, "lost", 0.0)
            for job_id, model in self.jobs.items()
            if model.worker in self.silent
        }
        assert self.runner.run(take_back()) == expected

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def guard(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.claims))

        async def holds() -> bool:
            try:
                async with self.db.transaction():
                    await guard_claim(self.db, claim.job_id, claim.claim_no)
            except ClaimLost:
                return False
            return True

        model = self.jobs[claim.job_id]
        assert self.runner.run(holds()) == (model.status == "running" and model.claim_no == claim.claim_no)

    @invariant()
    def tables_agree_with_the_model(self) -> None:
        if not hasattr(self, "runner"):
            return

        async def read() -> tuple[Any, Any]:
            columns = "job_id, status, attempt, claim_no, cancel_requested, claimed_by, unknown_faults, reason"
            jobs = await (await self.db.execute(f"SELECT {columns} FROM dl_jobs_all")).fetchall()
            locks = await (await self.db.execute("SELECT lock_key, job_id FROM dl_job_locks")).fetchall()
            return jobs, locks

        jobs, locks = self.runner.run(read())
        assert {row[0]: row[1:] for row in jobs} == {
            job_id: (
                model.status,
                model.attempt,
                model.claim_no,
                model.cancel_requested,
                model.worker,
                model.unknown_faults,
                model.reason,
            )
            for job_id, model in self.jobs.items()
        }
        assert sorted(locks) == sorted(
            (model.lock_key, job_id)
            for job_id, model in self.jobs.items()
            if model.status == "running" and model.lock_key is not None
        )


@pytest.mark.slow
@pytest.mark.timeout(0 if IS_LONG else 1800)
def test_job_state_machine(database_server: DatabaseServer) -> None:
    dsn = database_server.create()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA test")
        connection.execute("SET search_path = test")
        for version in VERSIONS:
            connection.execute(ddl(version))
    machine = type(
        "Machine", (JobMachine,), {"dsn": psycopg.conninfo.make_conninfo(dsn, options="-c search_path=test")}
    )
    try:
        run_state_machine_as_test(
            machine,
            _min_steps=30,  # otherwise most examples end before a claim is lost
            settings=settings(
                max_examples=_EXAMPLES,
                stateful_step_count=60,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                derandomize=not IS_LONG,
                database=None,
            ),
        )
    finally:
        database_server.drop(dsn)
