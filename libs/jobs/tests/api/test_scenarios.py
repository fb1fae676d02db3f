"""User scenarios over real HTTP and PostgreSQL, from the trigger to the completion."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from classifeed_jobs import Fail, Fixed, Linear, Progress, Worker

from ..conftest import Bench
from .conftest import Host

WORK = {"q": 4}


async def test_triggered_it_runs_and_succeeds(host: Host, bench: Bench) -> None:
    seen: list[Any] = []

    @bench.registry.register("load")
    async def load(ctx: Any, args: dict[str, Any]) -> None:
        seen.append((str(ctx.job_id), ctx.attempt, args))

    async with host(work=WORK) as services:
        message = await services.trigger(task="load", args={"file": "a.csv"})
        ended = await services.ended(message["job_id"])
        assert (ended["status"], ended["attempt"], ended["error"]) == ("succeeded", 1, None)
        assert ended["started_at"] <= ended["finished_at"]
        assert ended["finished_at"].endswith("Z")
        assert await services.kinds(message["job_id"]) == ["queued", "picked", "succeeded"]
        again = await services.trigger(task="load", args={}, idempotency_key="i")
        await services.ended(again["job_id"])
        twice = await services.trigger(task="load", args={"file": "b.csv"}, idempotency_key="i")
        assert twice == {"job_id": again["job_id"], "status": "succeeded", "differs": ["args"]}
    assert seen == [(message["job_id"], 1, {"file": "a.csv"}), (again["job_id"], 1, {})]


async def test_a_running_job_shows_heartbeats_and_progress(host: Host, bench: Bench) -> None:
    go = asyncio.Event()

    @bench.registry.register("steps")
    async def steps(ctx: Any, args: dict[str, Any]) -> Any:
        yield Progress(40, 100, {"file": "a.csv"})
        await go.wait()

    async with host(work=WORK) as services:
        job_id = (await services.trigger(task="steps"))["job_id"]
        first = await services.until(job_id, lambda message: message["progress"] is not None)
        assert (first["status"], first["attempt"], first["finished_at"]) == ("running", 1, None)
        assert first["progress"] == {"processed": 40, "total": 100, "file": "a.csv"}
        later = await services.until(job_id, lambda message: message["heartbeat_at"] > first["heartbeat_at"])
        assert later["started_at"] == first["started_at"]
        go.set()
        assert (await services.ended(job_id))["status"] == "succeeded"


async def test_all_three_kinds_of_pipelines_run(host: Host, bench: Bench) -> None:
    main = threading.get_ident()
    threads: dict[str, bool] = {}

    @bench.registry.register("coroutine")
    async def coroutine(ctx: Any, args: dict[str, Any]) -> None:
        threads["coroutine"] = threading.get_ident() == main

    @bench.registry.register("generator")
    async def generator(ctx: Any, args: dict[str, Any]) -> Any:
        threads["generator"] = threading.get_ident() == main
        yield

    @bench.registry.register("function")
    def function(ctx: Any, args: dict[str, Any]) -> None:
        threads["function"] = threading.get_ident() == main

    async with host(work=WORK) as services:
        for task in ("coroutine", "generator", "function"):
            message = await services.trigger(task=task, lock_key=task)
            assert (await services.ended(message["job_id"]))["status"] == "succeeded"
        unknown = await services.ended((await services.trigger(task="nothing", max_attempts=1))["job_id"])
        assert (unknown["status"], unknown["attempt"]) == ("failed", 1)
        assert "'nothing'" in unknown["error"]
    assert threads == {"coroutine": True, "generator": True, "function": False}


async def test_failing_it_is_tried_again_later_and_later_then_fails(host: Host, bench: Bench) -> None:
    began: list[float] = []
    began_once, go_on = asyncio.Event(), asyncio.Event()

    @bench.registry.register("broken", backoff=Linear(0.2))
    async def broken(ctx: Any, args: dict[str, Any]) -> None:
        began.append(time.monotonic())
        began_once.set()
        await go_on.wait()
        raise RuntimeError(f"fault {ctx.attempt}")

    async with host(work=WORK) as services:
        job_id = (await services.trigger(task="broken", max_attempts=3))["job_id"]
        await began_once.wait()
        await services.http.post("/api/v1/queues/q/pause")  # so that the state between two attempts is seen
        go_on.set()
        between = await services.until(job_id, lambda message: message["attempt"] == 1 and message["error"] is not None)
        assert (between["status"], between["finished_at"]) == ("queued", None)
        await services.http.post("/api/v1/queues/q/resume")
        ended = await services.ended(job_id)
        assert (ended["status"], ended["attempt"], ended["error"]) == ("failed", 3, "RuntimeError: fault 3")
        assert ended["started_at"] == between["started_at"]
        assert await services.kinds(job_id) == ["queued", "picked", "retry", "picked", "retry", "picked", "failed"]
    waits_s = [after - before for before, after in pairwise(began)]
    assert waits_s[0] >= 0.2
    assert waits_s[1] >= 0.4


async def test_success_clears_the_error_of_a_failed_try(host: Host, bench: Bench) -> None:
    @bench.registry.register("second", backoff=Fixed(0.01))
    async def second(ctx: Any, args: dict[str, Any]) -> None:
        if ctx.attempt == 1:
            raise RuntimeError("first")

    async with host(work=WORK) as services:
        ended = await services.ended((await services.trigger(task="second"))["job_id"])
        assert (ended["status"], ended["attempt"], ended["error"]) == ("succeeded", 2, None)


async def test_two_jobs_on_one_lock_key_run_one_after_the_other(host: Host, bench: Bench) -> None:
    inside: list[int] = []
    most = 0
    go_on = asyncio.Event()

    @bench.registry.register("exclusive")
    async def exclusive(ctx: Any, args: dict[str, Any]) -> None:
        nonlocal most
        inside.append(1)
        most = max(most, len(inside))
        await go_on.wait()
        await asyncio.sleep(0.01)
        inside.pop()

    async with host(work={"q": 8}) as services:
        other = Worker(bench.db, bench.store, bench.registry, queues={"q": 8})
        stop = asyncio.Event()
        second = asyncio.create_task(other.run(stop))
        with capture_logs() as lines:
            ids = [(await services.trigger(task="exclusive", lock_key="bank"))["job_id"] for _ in range(8)]
            async with asyncio.timeout(90):  # the first job holds the key until another job was blocked by it
                while not any(line["event"] == "worker.claim.backoff" for line in lines):
                    await asyncio.sleep(0.01)
            go_on.set()
            ended = [await services.ended(job_id) for job_id in ids]
        stop.set()
        await second
    assert {(each["status"], each["attempt"]) for each in ended} == {("succeeded", 1)}, "waiting uses up no attempt"
    assert most == 1


async def test_canceled_queued_running_and_ended(host: Host, bench: Bench) -> None:
    @bench.registry.register("forever")
    async def forever(ctx: Any, args: dict[str, Any]) -> Any:
        while True:
            await asyncio.sleep(0.01)
            yield

    @bench.registry.register("quick")
    async def quick(ctx: Any, args: dict[str, Any]) -> None:
        return None

    async with host(work={"q": 1}) as services:
        running = (await services.trigger(task="forever", lock_key="a"))["job_id"]
        await services.until(running, lambda message: message["status"] == "running")
        queued = (await services.trigger(task="quick", lock_key="b"))["job_id"]
        message = await services.cancel(queued)
        assert message == {
            "job_id": queued, "status": "canceled", "attempt": 0, "started_at": None, "heartbeat_at": None,
        }  # fmt: skip
        message = await services.cancel(running)
        assert set(message) == {"job_id", "status", "attempt", "started_at", "heartbeat_at"}
        assert (message["status"], message["attempt"]) == ("running", 1)
        assert message["heartbeat_at"].endswith("Z")
        assert (await services.ended(running))["status"] == "canceled"
        assert await services.kinds(running) == ["queued", "picked", "cancel_requested", "canceled"]
        done = (await services.trigger(task="quick", lock_key="c"))["job_id"]
        before = await services.ended(done)
        assert (await services.cancel(done))["status"] == "succeeded"
        assert await services.status(done) == before


async def test_delayed_it_starts_when_it_is_due(host: Host, bench: Bench) -> None:
    @bench.registry.register("quick")
    async def quick(ctx: Any, args: dict[str, Any]) -> None:
        return None

    async with host(work=WORK, claim_backoff_s=3600.0) as services:
        # A time without a zone is in UTC.
        due_at = datetime.now(UTC) + timedelta(seconds=1)
        message = await services.trigger(task="quick", available_at=due_at.replace(tzinfo=None).isoformat())
        assert message["status"] == "queued"
        ended = await services.ended(message["job_id"])  # when it is due, not at the next poll after an hour
        assert datetime.fromisoformat(ended["started_at"]) >= due_at


async def test_the_smaller_priority_runs_first(host: Host, bench: Bench) -> None:
    order: list[int] = []

    @bench.registry.register("note")
    async def note(ctx: Any, args: dict[str, Any]) -> None:
        order.append(args["n"])

    async with host(work={"q": 1}) as services:
        await services.http.post("/api/v1/queues/q/pause")
        for place, priority in enumerate((100, 7, 100, -1, 50)):
            await services.trigger(task="note", lock_key=str(place), args={"n": priority}, priority=priority)
        last = (await services.trigger(task="note", args={"n": 101}, priority=101))["job_id"]
        await services.http.post("/api/v1/queues/q/resume")
        await services.ended(last)
    assert order == [-1, 7, 50, 100, 100, 101]


async def test_a_queue_without_workers_waits_and_bad_args_fail_at_once(host: Host, bench: Bench) -> None:
    @bench.registry.register("fails")
    async def fails(ctx: Any, args: dict[str, Any]) -> None:
        raise Fail("nothing to load")

    async with host(work=WORK) as services:
        waiting = (await services.trigger(queue="any queue at all"))["job_id"]
        failed = await services.ended((await services.trigger(task="fails"))["job_id"])
        assert (failed["status"], failed["attempt"], failed["error"]) == ("failed", 1, "nothing to load")
        assert (await services.status(waiting))["status"] == "queued"


@pytest.mark.slow
async def test_at_a_stop_what_runs_ends_and_the_rest_is_handed_back(host: Host, bench: Bench) -> None:
    started: list[str] = []
    go_on = asyncio.Event()

    @bench.registry.register("short")
    async def short(ctx: Any, args: dict[str, Any]) -> None:
        started.append("short")
        await go_on.wait()

    @bench.registry.register("long")
    async def long(ctx: Any, args: dict[str, Any]) -> Any:
        started.append("long")
        while True:
            yield
            await asyncio.sleep(0.1)

    async with host(work=WORK, drain_grace_s=3.0) as services:
        first = (await services.trigger(task="short", lock_key="a"))["job_id"]
        second = (await services.trigger(task="long", lock_key="b"))["job_id"]
        async with asyncio.timeout(90):
            while len(started) < 2:
                await asyncio.sleep(0.01)
        asked_at = time.monotonic()
        services.stop.set()
        async with asyncio.timeout(90):
            while (
                response := await services.http.post("/api/v1/jobs/trigger", json=services.request)
            ).status_code == 200:
                await asyncio.sleep(0.01)
        assert (response.status_code, response.json()["reason"]) == (503, "DRAINING")
        go_on.set()
        assert (await services.http.get("/health")).json() == {"status": "healthy"}
        assert await services.task == 0
        took_s = time.monotonic() - asked_at
    assert 3 <= took_s < 30, "the grace of the jobs, not that of the process"
    rows = dict(await bench.execute("SELECT job_id::text, (status, attempt, claimed_by)::text FROM dl_jobs_all"))
    assert rows[first] == "(succeeded,1,)"
    assert rows[second] == "(queued,0,)", "handed back, and the attempt with it"
