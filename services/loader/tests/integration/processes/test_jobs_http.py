"""The loader as a process: jobs over HTTP, its verbs, and jobs after stops, kills and lost notifications."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from classifeed_common.auth import KeyStore
from classifeed_common.db import Database
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until
from classifeed_jobs.testing import lost_lease

pytestmark = pytest.mark.slow
ENDED = {"succeeded", "failed", "canceled"}
_CUT_LISTENERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'LISTEN%'
"""


@dataclass
class Running:
    """A loader process."""

    process: subprocess.Popen[bytes]
    http: httpx.AsyncClient
    log: Path

    async def trigger(self, **values: Any) -> str:
        request = {"queue": "etl.default", "task": "noop", "lock_key": "k"} | values
        response = await self.http.post("/api/v1/jobs/trigger", json=request)
        assert response.status_code == 200, response.text
        job_id: str = response.json()["job_id"]
        return job_id

    async def until(self, job_id: str, condition: Callable[[dict[str, Any]], bool], within_s: float = 150) -> Any:
        ends_at = time.monotonic() + within_s
        while not condition(job := (await self.http.get(f"/api/v1/jobs/{job_id}/status")).json()):
            assert time.monotonic() < ends_at, job
            await asyncio.sleep(0.05)
        return job

    async def ended(self, job_id: str, within_s: float = 150) -> dict[str, Any]:
        job: dict[str, Any] = await self.until(job_id, lambda job: job["status"] in ENDED, within_s)
        return job

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


Start = Callable[..., Awaitable[Running]]


@pytest.fixture
async def database(migrated_database: MigratedDatabase) -> Database:
    return await migrated_database("classifeed_loader", "loader", max_size=2)


@pytest.fixture
async def start(database: Database, s3: EmbeddedS3, keys: KeyStore, tmp_path: Path) -> AsyncIterator[Start]:
    """Start a loader with a verb; return once it responds."""
    running: list[Running] = []

    async def begin(*verb: str, **settings: str) -> Running:
        number = len(running)
        run_file, log = tmp_path / f"{number}.json", tmp_path / f"{number}.log"
        environment = {
            "CLASSIFEED_LOADER_DSN": database.dsn,
            "CLASSIFEED_LOADER_KEYS_DIR": str(keys.directory),
            "CLASSIFEED_LOADER_PROCESSOR_ADDRESS": "127.0.0.1:1",
            "CLASSIFEED_LOADER_S3_ENDPOINT": s3.endpoint,
            "CLASSIFEED_LOADER_S3_ACCESS_KEY": s3.access_key,
            "CLASSIFEED_LOADER_S3_SECRET_KEY": s3.secret_key,
            "CLASSIFEED_LOADER_S3_BUCKET": "loader-jobs",
            "CLASSIFEED_LOADER_SPOOL_DIR": str(tmp_path / "spool"),
            "CLASSIFEED_LOADER_RUN_FILE": str(run_file),
            "APP_PORT": "0",
            "APP_ENVIRONMENT": "test",
            "DL_HEARTBEAT_SEC": "0.5",
            "DL_REAPER_PERIOD_SEC": "0.5",
        }
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "classifeed_loader", *verb],
                env={**os.environ, **environment, **settings},
                stdin=subprocess.DEVNULL,
                stderr=stream,
            )
        async with asyncio.timeout(240):
            while not run_file.exists():
                assert process.poll() is None, log.read_text()
                await asyncio.sleep(0.05)
            url = f"http://{json.loads(run_file.read_text())['http']}"
            made = Running(process, loopback_client(url), log)
            running.append(made)
            while (await made.http.get("/health/ready")).status_code != 200:
                assert process.poll() is None, log.read_text()
                await asyncio.sleep(0.05)
        return made

    yield begin
    for each in running:
        await each.http.aclose()
        if each.process.poll() is None:
            each.process.kill()
        await asyncio.to_thread(each.process.wait, 120)


async def test_without_a_verb_it_serves_and_works(start: Callable[..., Any], keys: KeyStore) -> None:
    loader = await start()
    assert (await loader.http.get("/health")).json() == {"status": "healthy"}
    job = (await loader.http.get("/info")).json()
    assert (job["service"], job["environment"]) == ("loader", "test")
    job_id = await loader.trigger(args={"sleep1": 0.1, "sleep2": 0.1})
    ended = await loader.ended(job_id)
    assert (ended["status"], ended["attempt"]) == ("succeeded", 1)
    wrong = await loader.ended(await loader.trigger(args={"sleep9": 1}, max_attempts=1))
    assert (wrong["status"], wrong["attempt"]) == ("failed", 1)
    assert "sleep9" in wrong["error"]
    loader.process.terminate()
    assert await asyncio.to_thread(loader.process.wait, 120) == 0
    lines = [line for line in loader.lines() if line.get("path") == "/api/v1/jobs/trigger"]
    assert [line["event"] for line in lines[:2]] == ["api.request.started", "api.request.ended"]
    audit = [line for line in loader.lines() if line["event"] == "job.audit"]
    assert (audit[0]["action"], audit[0]["job_id"], audit[0]["logger"]) == (
        "trigger", job_id, "classifeed_jobs.audit",
    )  # fmt: skip

    guarded = await start(CLASSIFEED_HTTP_AUTH="on")
    assert (await guarded.http.get("/health")).json() == {"status": "healthy"}
    assert (await guarded.http.get("/api/v1/jobs")).status_code == 401
    guarded.http.headers["authorization"] = f"Bearer {keys.issue('operator', 'loader')}"
    listed = await guarded.http.get("/api/v1/jobs", params={"queue": "etl.default"})
    assert {job["job_id"] for job in listed.json()["jobs"]} == {job_id, wrong["job_id"]}


@in_campaigns
async def test_serve_and_work_alone_do_one_of_the_two(start: Callable[..., Any], tmp_path: Path) -> None:
    serving = await start("serve")
    job_id = await serving.trigger(queue="load.cbr", task="test.pipeline", args={"rows": 3})
    assert (await serving.http.get("/api/v1/queues")).json()["queues"][0]["workers"] == 0
    (tmp_path / "cbr_pipelines.py").write_text(
        "from classifeed_jobs import JobContext, Progress, register\n"
        "@register('test.pipeline')\n"
        "async def run(ctx: JobContext, args: dict):\n"
        "    yield Progress(args['rows'], args['rows'])\n"
    )
    working = await start(
        "work",
        PYTHONPATH=str(tmp_path),
        DL_PIPELINE_MODULES="classifeed_jobs.task.noop,cbr_pipelines",
        WORKERS_JSON='[{"queue": "load.cbr", "concurrency": 2}]',
    )
    assert (await serving.ended(job_id))["status"] == "succeeded"
    other = await serving.trigger(lock_key="other")
    assert (await working.http.get("/api/v1/jobs")).status_code == 404
    roles = (await working.http.get("/health")).json()["roles"]
    assert roles == ["reap", "schedule", "schedule-fetches", "sweep", "work"]
    queues = {each["queue"]: each["workers"] for each in (await serving.http.get("/api/v1/queues")).json()["queues"]}
    assert queues == {"etl.default": 0, "load.cbr": 1, "loader.clean-up": 1}
    assert (await serving.http.get(f"/api/v1/jobs/{other}/status")).json()["status"] == "queued"


async def test_a_killed_worker_s_job_runs_again(start: Start, database: Database) -> None:
    serving = await start("serve")
    first = await start("work")
    job_id = await serving.trigger(args={"sleep1": 600})
    await serving.until(job_id, lambda job: job["status"] == "running")
    first.process.kill()
    await asyncio.to_thread(first.process.wait, 120)
    async with database.connection() as connection:  # the next run is short
        await connection.execute("UPDATE dl_jobs SET args = '{\"sleep1\": 0}'")
    async with lost_lease(database, first.process.pid):
        second = await start("work")
        await serving.until(job_id, lambda job: job["attempt"] == 2)
    assert any(line["event"] == "reaper.requeued" and line["job_id"] == job_id for line in second.lines())
    ended = await serving.ended(job_id)
    assert (ended["status"], ended["attempt"]) == ("succeeded", 2)
    events = (await serving.http.get(f"/api/v1/jobs/{job_id}/events")).json()["events"]
    assert [event["kind"] for event in events] == [
        "queued", "picked", "heartbeat_lost", "requeued", "picked", "succeeded",
    ]  # fmt: skip


@in_campaigns
async def test_asked_to_stop_jobs_end_or_go_back_within_30_s(start: Start) -> None:
    serving = await start("serve")
    working = await start("work", CLASSIFEED_LOADER_DRAIN_GRACE_S="16")
    short = await serving.trigger(args={"sleep1": 1}, lock_key="a")
    # It yields too late, so it is canceled; this uses up no attempt.
    long = await serving.trigger(args={"sleep1": 600}, lock_key="b")
    for job_id in (short, long):
        await serving.until(job_id, lambda job: job["status"] != "queued")  # the short one may have completed
    asked_at = time.monotonic()
    working.process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(working.process.wait, 120) == 0
    assert time.monotonic() - asked_at < 30
    assert (await serving.ended(short))["status"] == "succeeded"
    job = (await serving.http.get(f"/api/v1/jobs/{long}/status")).json()
    assert (job["status"], job["attempt"], job["error"]) == ("queued", 0, None)


async def test_while_nobody_can_listen_jobs_are_found_by_looking(start: Start, database: Database) -> None:
    loader = await start(DL_CLAIM_BACKOFF_SEC="0.5")

    async def have_lost_connections() -> bool:
        """Cut off the listeners; return False if there is none yet."""
        async with database.connection() as connection:
            return (await connection.execute(_CUT_LISTENERS)).rowcount > 0

    async with database.connection() as connection:
        # No notification is sent any more, and listeners lose their connections.
        await connection.execute("ALTER TABLE dl_jobs DISABLE TRIGGER USER")
    await until(have_lost_connections)
    for number in range(3):
        assert (await loader.ended(await loader.trigger(lock_key=str(number))))["status"] == "succeeded"
    async with asyncio.timeout(120):
        while not any(line["event"] == "worker.listen.lost" for line in loader.lines()):
            await asyncio.sleep(0.1)
    async with database.connection() as connection:
        await connection.execute("ALTER TABLE dl_jobs ENABLE TRIGGER USER")
    assert (await loader.ended(await loader.trigger(lock_key="again")))["status"] == "succeeded"
