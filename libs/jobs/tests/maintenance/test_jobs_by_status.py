"""The gauge of jobs by queue and status, and the view of all jobs under the name of the live ones."""

from __future__ import annotations

from typing import Any

from prometheus_client import REGISTRY

from classifeed_jobs import Fail, JobContext
from classifeed_jobs.maintenance.housekeeping import Housekeeping
from classifeed_jobs.schema.ddl import view_ddl

from ..conftest import Bench


async def _complete_some(bench: Bench) -> None:
    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> None: ...

    @bench.registry.register("bad")
    async def bad(ctx: JobContext, args: dict[str, Any]) -> None:
        raise Fail("no")

    async with bench.working():
        ids = [await bench.enqueue("noop"), await bench.enqueue("noop"), await bench.enqueue("bad")]
        await bench.ended(*ids)


async def test_gauge_counts_all_jobs_of_the_service_by_status(bench: Bench) -> None:
    await _complete_some(bench)
    await bench.enqueue("noop")
    old = await bench.enqueue("noop", queue="old")
    async with bench.db.transaction() as tx:
        await bench.store.cancel(tx, old)
    await bench.execute("UPDATE dl_jobs_done SET finished_at = now() - interval '6 minutes' WHERE queue = 'old'")
    await Housekeeping(bench.db, retention=None, forget_workers_s=3600).show_figures()

    def value(queue: str, status: str) -> float | None:
        return REGISTRY.get_sample_value("classifeed_jobs", {"queue": queue, "status": status})

    assert (value("q", "queued"), value("q", "succeeded"), value("q", "failed")) == (1, 2, 1)
    assert value("old", "canceled") is None


async def test_view_named_as_the_live_table_has_all_jobs(bench: Bench) -> None:
    await _complete_some(bench)
    await bench.enqueue("noop")
    for _ in range(2):  # again after an upgrade
        await bench.execute(view_ddl("jobs_views", of=bench.db.schema))
    rows = await bench.execute("SELECT status, count(*) FROM jobs_views.dl_jobs GROUP BY 1 ORDER BY 1")
    assert rows == [("failed", 1), ("queued", 1), ("succeeded", 2)]
    columns = (
        "job_id, queue, task, args, lock_key, attempt, lease_expires_at, heartbeat_at, progress, error, finished_at"
    )
    assert len(await bench.execute(f"SELECT {columns} FROM jobs_views.dl_jobs WHERE status = 'failed'")) == 1
