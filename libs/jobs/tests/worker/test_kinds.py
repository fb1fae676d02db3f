"""Handlers other than coroutines: sync functions and generators in threads, and their time limits; the task noop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator, Iterator
from typing import Any

from structlog.testing import capture_logs

from classifeed_jobs import JobContext, Progress, StopRequested, load_pipelines

from ..conftest import Bench, until


async def test_sync_generator_runs_in_a_thread_shows_progress_and_has_a_result(bench: Bench) -> None:
    threads: list[str] = []
    shown = threading.Event()

    @bench.registry.register("steps")
    def steps(ctx: JobContext, args: dict[str, Any]) -> Generator[Progress, None, str]:
        threads.append(threading.current_thread().name)
        for done in range(3):
            yield Progress(processed=done, total=3)
        shown.wait(120)
        return "all"

    async with bench.working(heartbeat_s=0.1):
        job_id = await bench.enqueue("steps")

        async def is_shown() -> bool:
            return (await bench.job(job_id)).progress == {"processed": 2, "total": 3}

        await until(is_shown)
        shown.set()
        assert await bench.ended(job_id) == ["succeeded"]
    assert (await bench.job(job_id)).result == "all"
    assert threads[0].startswith("job")


async def test_canceled_sync_generator_ends_at_its_next_yield_and_cleans_up(bench: Bench) -> None:
    seen: list[str] = []

    @bench.registry.register("steps")
    def steps(ctx: JobContext, args: dict[str, Any]) -> Iterator[None]:
        try:
            while True:
                seen.append("step")
                time.sleep(0.01)
                yield
        finally:
            seen.append("cleaned")

    async with bench.working():
        job_id = await bench.enqueue("steps")

        async def has_begun() -> bool:
            return bool(seen)

        await until(has_begun)
        async with bench.db.transaction() as tx:
            await bench.store.cancel(tx, job_id)
        assert await bench.ended(job_id) == ["canceled"]
    assert seen[-1] == "cleaned"


async def test_thread_that_runs_too_long_is_signalled_to_stop_and_keeps_its_key_until_it_does(bench: Bench) -> None:
    stopped = threading.Event()
    overlaps: list[int] = []
    running = 0

    @bench.registry.register("long", max_run_s=0.1)
    def long(ctx: JobContext, args: dict[str, Any]) -> None:
        nonlocal running
        overlaps.append(running)
        running += 1
        try:
            while not ctx.is_stopping:
                time.sleep(0.01)
            stopped.wait(0.3)
            ctx.raise_if_stopped()
        except StopRequested:
            running -= 1
            raise

    with capture_logs() as logs:
        async with bench.working():
            ids = [await bench.enqueue("long", lock_key="l", max_attempts=1) for _ in range(2)]
            assert await bench.ended(*ids) == ["failed", "failed"]
    assert (await bench.job(ids[0])).error == "ran longer than 0.1 s and was stopped"
    assert overlaps == [0, 0]
    assert [line["event"] for line in logs if line["event"] == "worker.run.overdue"] == ["worker.run.overdue"] * 2


async def test_noop_takes_three_steps_and_refuses_what_it_does_not_know(bench: Bench) -> None:
    bench.registry = load_pipelines(["classifeed_jobs.task.noop"])
    began = asyncio.get_running_loop().time()
    async with bench.working(heartbeat_s=0.05):
        good = await bench.enqueue("noop", {"sleep1": 0.1, "sleep2": 0.1, "sleep3": 0.1})
        wrong = await bench.enqueue("noop", {"sleep4": 1}, max_attempts=1)
        assert await bench.ended(good, wrong) == ["succeeded", "failed"]
    assert asyncio.get_running_loop().time() - began >= 0.3
    assert "sleep4: Extra inputs are not permitted" in ((await bench.job(wrong)).error or "")
