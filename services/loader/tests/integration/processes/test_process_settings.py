"""Each variable of the job engine and its host has an effect on a loader process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from classifeed.jobs.v1.job_service_pb2 import GetJobRequest
from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceStub
from classifeed_common.rpc.client import open_channel
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.http import loopback_client

pytestmark = pytest.mark.slow
OPERATOR = {"queue": "etl.default", "task": "noop", "lock_key": "k"}


@dataclass
class Running:
    """A serving loader process."""

    process: subprocess.Popen[bytes]
    http: httpx.AsyncClient
    stderr: Path

    async def trigger(self, **values: Any) -> str:
        response = await self.http.post("/api/v1/jobs/trigger", json=OPERATOR | values)
        assert response.status_code == 200, response.text
        return str(response.json()["job_id"])

    async def succeeded(self, job_id: str) -> None:
        async with asyncio.timeout(150):
            while (job := (await self.http.get(f"/api/v1/jobs/{job_id}/status")).json())["status"] != "succeeded":
                assert job["status"] in {"queued", "running"}, job
                await asyncio.sleep(0.05)

    async def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(self.process.wait, 150) == 0


@dataclass
class Loaders:
    """Starts loader processes on one database."""

    environment: dict[str, str]
    folder: Path
    running: list[Running]

    def run(self, *verb: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run a verb that terminates."""
        command = [sys.executable, "-m", "classifeed_loader", *verb]
        return subprocess.run(
            command, env=self.environment | settings, capture_output=True, text=True, timeout=300, check=False
        )

    async def start(self, **settings: str) -> Running:
        number = len(self.running)
        run_file, stderr = self.folder / f"{number}.json", self.folder / f"{number}.stderr"
        environment = self.environment | {"CLASSIFEED_LOADER_RUN_FILE": str(run_file)} | settings
        with stderr.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "classifeed_loader"], env=environment, stdin=subprocess.DEVNULL, stderr=stream
            )
        made = Running(process, loopback_client(), stderr)
        self.running.append(made)
        async with asyncio.timeout(240):
            while not run_file.exists():
                assert process.poll() is None, stderr.read_text()
                await asyncio.sleep(0.05)
            made.http.base_url = f"http://{json.loads(run_file.read_text())['http']}"
            while (await made.http.get("/health/ready")).status_code != 200:
                assert process.poll() is None, stderr.read_text()
                await asyncio.sleep(0.05)
        return made


@pytest.fixture
async def loaders(database_dsn: str, s3: EmbeddedS3, tmp_path: Path) -> AsyncIterator[Loaders]:
    environment = {
        **os.environ,
        "PG_DSN": database_dsn,
        "CLASSIFEED_LOADER_PROCESSOR_ADDRESS": "127.0.0.1:1",
        "CLASSIFEED_LOADER_S3_ENDPOINT": s3.endpoint,
        "CLASSIFEED_LOADER_S3_ACCESS_KEY": s3.access_key,
        "CLASSIFEED_LOADER_S3_SECRET_KEY": s3.secret_key,
        "CLASSIFEED_LOADER_S3_BUCKET": "loader-settings",
        "CLASSIFEED_LOADER_SPOOL_DIR": str(tmp_path / "spool"),
        "CLASSIFEED_LOADER_DRAIN_NOTICE_S": "0",
        "APP_PORT": "0",
        "TZ": "America/New_York",  # the machine's zone, which must have no effect
    }
    loaders = Loaders(environment, tmp_path, [])
    yield loaders
    for each in loaders.running:
        await each.http.aclose()
        if each.process.poll() is None:
            each.process.kill()
        await asyncio.to_thread(each.process.wait, 120)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]


@in_campaigns
async def test_three_files_stand_beside_the_stream(loaders: Loaders, tmp_path: Path) -> None:
    assert loaders.run("migrate").returncode == 0
    loader = await loaders.start(
        LOG_PATH=str(tmp_path / "logs"),
        METRIC_PATH=str(tmp_path / "metrics"),
        METRIC_FILE_NAME="figures.jsonl",
        AUDIT_LOG_PATH=str(tmp_path / "audit"),
        AUDIT_LOG_FILE_NAME="who.log",
        TIMEZONE="Asia/Tokyo",
        DEBUG="1",
        CLASSIFEED_LOADER_LOG_JSON="false",
    )
    job_id = await loader.trigger()
    await loader.succeeded(job_id)
    await loader.http.post(f"/api/v1/jobs/{job_id}/cancel")
    grpc = json.loads((tmp_path / "0.json").read_text())["grpc"]
    async with open_channel(grpc, caller="-", audience="loader", keys=None) as channel:
        await JobServiceStub(channel).GetJob(GetJobRequest(job_id=job_id))
    await loader.stop()

    log = read(tmp_path / "logs" / "loader.log")
    assert {"debug", "info"} <= {line["level"] for line in log}
    assert {datetime.fromisoformat(line["timestamp"]).utcoffset() for line in log} == {timedelta(hours=9)}
    assert log[-1]["event"] == "runner.stopped"
    # The stream has the same lines in readable form.
    assert all(str(line["event"]).splitlines()[0] in loader.stderr.read_text() for line in log)
    assert read(loader.stderr) == []

    audit = read(tmp_path / "audit" / "who.log")
    assert audit == [line for line in log if line["logger"].endswith(".audit")]
    done = [line for line in audit if line["event"] == "job.audit"]
    assert [(line["action"], line["by"], line["job_id"]) for line in done] == [
        ("trigger", "anonymous@127.0.0.1", job_id),
        ("cancel", "anonymous@127.0.0.1", job_id),
    ]
    requests = [(line["event"], line["path"]) for line in audit if line["event"].startswith("api.request")]
    assert requests[:2] == [(f"api.request.{what}", "/api/v1/jobs/trigger") for what in ("started", "ended")]
    assert len(requests) % 2 == 0
    called = [line for line in audit if line.get("rpc_method") == "/classifeed.jobs.v1.JobService/GetJob"]
    assert [line["event"] for line in called] == ["rpc.request.started", "rpc.request.ended"]
    assert called[0]["request_id"] == called[1]["request_id"]
    assert called[1]["code"] == "OK"

    metrics = read(tmp_path / "metrics" / "figures.jsonl")
    assert {line["timestamp"][-6:] for line in metrics} == {"+09:00"}
    times = sorted({line["timestamp"] for line in metrics})
    assert len(times) >= 2
    last = [line for line in metrics if line["timestamp"] == times[-1]]
    [responses] = [line for line in last if line["name"] == "responses_total" and "trigger" in str(line["labels"])]
    assert responses["value"] == 1


@in_campaigns
async def test_without_their_folders_there_are_no_files_and_no_debug_lines(loaders: Loaders, tmp_path: Path) -> None:
    assert loaders.run("migrate").returncode == 0
    loader = await loaders.start()
    await loader.succeeded(await loader.trigger())
    await loader.stop()
    assert {path.name for path in tmp_path.iterdir()} <= {"0.stderr", "spool"}
    lines = read(loader.stderr)
    assert "debug" not in {line["level"] for line in lines}
    assert {line["timestamp"][-1] for line in lines} == {"Z"}, "UTC in any zone of the machine and the schedules"


@in_campaigns
async def test_log_files_are_turned_over_at_their_size(loaders: Loaders, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    settings = {"LOG_PATH": str(logs), "LOG_FILE_NAME": "l.log", "LOG_ROTATION": "4 KB"}
    assert loaders.run("migrate", **settings).returncode == 0
    loader = await loaders.start(**settings)
    await loader.succeeded(await loader.trigger())
    await loader.stop()
    assert {"l.log", "l.log.1"} <= {path.name for path in logs.iterdir()}
    assert max(path.stat().st_size for path in logs.iterdir()) <= 4096
    kept = [line for path in logs.iterdir() for line in read(path)]
    assert all(line in kept for line in read(loader.stderr)[-10:])


async def test_a_folder_that_cannot_be_written_refuses_the_start_in_one_line(loaders: Loaders, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = loaders.run("check", METRIC_PATH=str(tmp_path / "file"))
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"METRIC_PATH='{tmp_path}/file' is refused: cannot be written: ")


async def test_jobs_live_in_a_schema_of_their_own_from_the_migration_on(loaders: Loaders, database_dsn: str) -> None:
    missing = loaders.run("check", PG_SCHEMA_QUEUE="queue_of_jobs")
    assert (missing.returncode, "postgres: NOT_MIGRATED" in missing.stderr) == (1, True)
    for _ in range(2):
        migrated = loaders.run("migrate", PG_SCHEMA_QUEUE="queue_of_jobs")
        assert migrated.returncode == 0, migrated.stderr
    loader = await loaders.start(PG_SCHEMA_QUEUE="queue_of_jobs", DL_CLAIM_BACKOFF_SEC="3600")
    job_id = await loader.trigger()
    await loader.succeeded(job_id)
    listed = (await loader.http.get("/api/v1/jobs", params={"task": "noop"})).json()["jobs"]
    assert [job["job_id"] for job in listed] == [job_id]
    await loader.stop()
    with psycopg.connect(database_dsn) as connection:
        tables = connection.execute(
            "SELECT relnamespace::regnamespace::text, bool_and(relname ^@ 'dl_'), count(*) FROM pg_class "
            "WHERE relkind IN ('r', 'p', 'v') AND relnamespace::regnamespace::text IN ('loader', 'queue_of_jobs') "
            "GROUP BY 1 ORDER BY 1"
        ).fetchall()
        done = connection.execute("SELECT job_id::text FROM queue_of_jobs.dl_jobs_done WHERE task = 'noop'").fetchall()
        own = connection.execute("SELECT count(*) FROM loader.feed_loader_task").fetchone()
    assert [(schema, is_of_jobs) for schema, is_of_jobs, _ in tables] == [("loader", False), ("queue_of_jobs", True)]
    assert done == [(job_id,)]
    assert own == (0,)


_PIDS = """
import asyncio

from classifeed_jobs import JobContext, Progress, register


async def find_pid(ctx: JobContext) -> int:
    async with ctx.db.transaction() as tx:
        return tx.info.backend_pid


@register("test.five")
async def five(ctx: JobContext, args: dict):
    return [await find_pid(ctx) for _ in range(5)]


@register("test.another")
async def another(ctx: JobContext, args: dict):
    first = await find_pid(ctx)
    while await find_pid(ctx) == first:
        await asyncio.sleep(0.05)
        yield Progress(1)
"""


@in_campaigns
async def test_connections_are_kept_replaced_or_made_for_each_transaction(
    loaders: Loaders, database_dsn: str, tmp_path: Path
) -> None:
    (tmp_path / "pids.py").write_text(_PIDS)
    assert loaders.run("migrate").returncode == 0
    tasks = {"PYTHONPATH": str(tmp_path), "DL_PIPELINE_MODULES": "pids", "PG_POOL_SIZE": "1"}
    tasks["PYTHONPATH"] = os.pathsep.join(filter(None, [tasks["PYTHONPATH"], os.environ.get("PYTHONPATH")]))

    async def pids(loader: Running) -> list[int]:
        job_id = await loader.trigger(task="test.five")
        await loader.succeeded(job_id)
        with psycopg.connect(database_dsn) as connection:
            row = connection.execute("SELECT result FROM loader.dl_jobs_done WHERE job_id = %s", [job_id]).fetchone()
        assert row is not None
        return list(row[0])

    pooling = await loaders.start(**tasks, PG_POOL_RECYCLE="1")
    # Completes once the only pooled connection was replaced.
    await pooling.succeeded(await pooling.trigger(task="test.another"))
    await pooling.stop()
    keeping = await loaders.start(**tasks)
    assert len(set(await pids(keeping))) == 1
    await keeping.stop()
    making = await loaders.start(**tasks, PG_USE_POOL="false")
    assert len(set(await pids(making))) == 5
    await making.stop()


async def test_jobs_are_claimed_ahead_of_a_free_slot(loaders: Loaders, database_dsn: str) -> None:
    assert loaders.run("migrate").returncode == 0
    workers = json.dumps([{"queue": "etl.default", "concurrency": 1}])
    loader = await loaders.start(WORKERS_JSON=workers, DL_PREFETCH="2")
    await loader.succeeded(await loader.trigger())  # the run is short, so the next jobs may be claimed ahead
    jobs = [await loader.trigger(lock_key=f"k{number}", args={"sleep1": 2}) for number in range(2)]
    for job_id in jobs:
        await loader.succeeded(job_id)
    # The second job was claimed while the first one ran, waited too long for the slot, and was returned.
    with psycopg.connect(database_dsn) as connection:
        events = connection.execute(
            "SELECT kind FROM loader.dl_job_events WHERE job_id = %s ORDER BY event_id", [jobs[1]]
        ).fetchall()
    assert [kind for (kind,) in events] == ["queued", "picked", "returned", "picked", "succeeded"]
