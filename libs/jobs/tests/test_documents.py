"""The README's code runs unchanged, and every query of the how-to works on filled tables."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from classifeed_devkit.testing.background import running
from classifeed_jobs import QueueLimits, Queues, Schedule, Schedules, Worker
from classifeed_jobs.claim.claim import Completion
from classifeed_jobs.claim.finish import complete_claims

from .claimant import Claimant
from .conftest import Bench, until

_ROOT = Path(__file__).parents[3]
_README = (_ROOT / "libs/jobs/README.md").read_text(encoding="utf-8")
_HOW_TO = (_ROOT / "docs/how-to/troubleshoot-jobs.md").read_text(encoding="utf-8")


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
async def test_readme_runs_as_it_stands_twice(database_dsn: str, tmp_path: Path) -> None:
    start, operate = _blocks(_README, "python")
    (tmp_path / "app.py").write_text(start, encoding="utf-8")
    (tmp_path / "operate.py").write_text(f"from app import *\n{operate}\nasyncio.run(operate())\n", encoding="utf-8")

    async def run(*arguments: str, until_line: str = "") -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", *arguments, cwd=tmp_path, env={"JOBS_DSN": database_dsn, "PATH": ""},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        assert process.stdout is not None
        lines: list[str] = []
        async with asyncio.timeout(300):
            async for line in process.stdout:
                lines.append(line.decode())
                if until_line and until_line in lines[-1]:
                    process.terminate()
                    until_line = ""
            assert await process.wait() == 0, lines
        return "".join(lines)

    for _ in range(2):
        await run("app.py")
    worker = ("-m", "classifeed_jobs", "--app", "app:jobs", "worker")
    log = await run(*worker, until_line="job.run.ended")
    assert "outcome=succeeded" in log
    assert "task=greet" in log
    assert "default 0 None QueueLimits(max_running=20" in await run("operate.py")
    listed = await run("-m", "classifeed_jobs", "--app", "app:jobs", "list")
    assert "succeeded" in listed


@pytest.fixture
async def troubled(bench: Bench) -> dict[str, Any]:
    """Provide tables with an example of each problem."""
    claimant = Claimant(bench)
    failed = await bench.enqueue("fails")
    (claim,) = await claimant.claim(1)
    async with bench.db.transaction() as tx:
        await complete_claims(tx, [Completion(claim.job_id, claim.claim_no, "failed", "TimeoutError: s3 away")])
    held = [await bench.enqueue(lock_key="hot") for _ in range(3)]
    await claimant.claim(5)
    await claimant.claim(5)
    nobody = await bench.enqueue(queue="nobody")
    later = await bench.enqueue(available_at=await bench.value("SELECT now() + interval '1 hour'"))
    await bench.enqueue()
    async with bench.db.transaction() as tx:
        await Queues().pause(tx, "paused", by="anna")
        await Queues().set_limits(tx, "slow", QueueLimits(max_running=1))
        for name in ("held", "unseen", "fresh"):
            await Schedules().put(tx, Schedule(name, "q", "noop", every_s=10**9))
        await Schedules().pause(tx, "held", by="anna")
    await bench.execute("UPDATE dl_schedules SET next_slot = now() - interval '2 d' WHERE name = 'unseen'")
    for queue in ("paused", "slow"):
        await bench.enqueue(queue=queue)
    await bench.execute("INSERT INTO dl_workers (worker_id, queues) VALUES ('w2', '{slow,paused}')")
    return {"failed": failed, "held": held, "nobody": nobody, "later": later}


async def _responses(bench: Bench, job_id: Any) -> list[list[tuple[Any, ...]]]:
    queries = _blocks(_HOW_TO, "sql")
    assert len(queries) >= 10
    parameters = {"job_id": job_id}
    async with bench.db.transaction() as tx:
        await tx.execute("SET TRANSACTION READ ONLY")
        return [
            await (await tx.execute(query.replace("%", "%%").replace(":job_id", "%(job_id)s"), parameters)).fetchall()
            for query in queries
        ]


async def test_queries_of_the_how_to_name_the_trouble(bench: Bench, troubled: dict[str, Any]) -> None:
    listening = next(query for query in _blocks(_HOW_TO, "sql") if "LISTEN" in query)

    async def somebody_listens() -> bool:
        return bool(await bench.execute(listening))

    listener = Worker(bench.db, bench.store, bench.registry, queues={"another": 1})
    async with running(listener):
        await until(somebody_listens)
        responses = await _responses(bench, troubled["failed"])
    status, journal, queued, ended, scheduled, keys, failed, slow, old, dead, runs, sizes, listeners, triggers = (
        responses
    )
    assert status[0][0] == "failed"
    assert [row[1] for row in journal] == ["queued", "picked", "failed"]
    why = {(row[0], row[1]) for row in queued}
    assert ("nobody", "no worker serves the queue") in why
    assert ("paused", "the queue is paused by anna") in why
    assert ("slow", "the queue is limited") in why
    assert {("q", "its lock key is held"), ("q", "its time has not come")} <= why
    assert ended == []
    assert [row[:2] for row in scheduled[:1]] == [("unseen", "no scheduler sees to it")]
    assert {row[:2] for row in scheduled[1:]} == {
        ("held", "it is paused by anna"),
        ("fresh", "its first slot has not come"),
    }
    assert (keys[0][0], keys[0][-1]) == ("hot", 2)
    assert [row[:4] for row in failed] == [("q", "fails", "TimeoutError: s3 away", 1)]
    assert slow[0][:3] == ("q", "fails", 1)
    assert old == []
    assert {"dl_jobs", "dl_job_locks"} <= {row[0] for row in dead} & {row[0] for row in sizes}
    assert ("w1", "q", "noop", 1) in {(row[0], row[3], row[4], row[5]) for row in runs}
    assert len(listeners) >= 1
    assert triggers == [("dl_jobs_notify_ins", "O"), ("dl_jobs_notify_upd", "O")]


async def test_forgotten_transaction_is_found(bench: Bench) -> None:
    query = next(query for query in _blocks(_HOW_TO, "sql") if "backend_xmin" in query)
    async with bench.db.dedicated_connection() as forgotten, forgotten.transaction(), bench.db.transaction() as tx:
        await forgotten.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        await forgotten.execute("SELECT count(*) FROM dl_jobs")
        rows = await (await tx.execute(query.replace("interval '1 minute'", "interval '-1 minute'"))).fetchall()
        assert forgotten.info.backend_pid in {row[0] for row in rows}


def test_every_page_that_is_promised_is_there() -> None:
    chapters = re.findall(r"^## (.*)$", _HOW_TO, re.MULTILINE)
    assert chapters == [
        "A job stays queued", "A job was quarantined, set aside, or failed by unknown faults",
        "A schedule makes no jobs", "Frequent back-off", "Many failed", "Slow", "Memory growth",
        "Workers are not notified",
    ]  # fmt: skip
    for event in ("worker.claim.backoff", "worker.complete.failed", "reaper.requeued"):
        assert event in _HOW_TO
