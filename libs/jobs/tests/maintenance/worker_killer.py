"""A worker process that some of its jobs kill: `python worker_killer.py <dsn> [naive]`.

`killer` kills the process; `long` takes a while and writes a row; `stall` prevents the renewal of the lease.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from typing import Any

from classifeed_common.db import Database
from classifeed_jobs import JobContext, JobStore, Registry, Worker
from classifeed_jobs.worker.isolation import Isolation

registry = Registry()


@registry.register("killer")
async def killer(ctx: JobContext, args: dict[str, Any]) -> None:
    """Kill the process, as the kernel does when it is out of memory."""
    await _mark(ctx)
    await asyncio.sleep(args["after_s"])
    os.kill(os.getpid(), signal.SIGKILL)


@registry.register("stall")
async def stall(ctx: JobContext, args: dict[str, Any]) -> None:
    """Block the interpreter, as a library that never releases the GIL."""
    await _mark(ctx)
    time.sleep(args["for_s"])


@registry.register("long")
async def long(ctx: JobContext, args: dict[str, Any]) -> None:
    """Work for a while, next to other jobs."""
    await _mark(ctx)
    await asyncio.sleep(args["for_s"])


async def _mark(ctx: JobContext) -> None:
    async with ctx.guarded_transaction() as tx:
        await tx.execute(
            "INSERT INTO marks (job_id, claim_no, mark) VALUES (%s, %s, 'began')", [ctx.job_id, ctx.claim_no]
        )


class NoIsolation(Isolation):
    """No isolation, as in other engines: due jobs start next to any running job."""

    def may_start(self, claim: Any, *, is_idle: bool) -> bool:
        return True


async def main(dsn: str, naive: str = "") -> None:
    """Work until SIGTERM."""
    if naive:
        from classifeed_jobs.worker import worker as module

        module.Isolation = NoIsolation  # type: ignore[attr-defined]
    database = Database(dsn, schema="test", application_name="worker")
    await database.open()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await Worker(database, JobStore(), registry, queues={"q": 4}, heartbeat_s=0.5, drain_grace_s=2.0).run(stop)
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
