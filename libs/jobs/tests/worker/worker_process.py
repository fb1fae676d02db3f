"""A worker process for tests that stop and kill it: `python worker_process.py <dsn> [broken part]`.

Handlers write to tables of the test: `marks` (their progress), `effects` (guarded).
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from types import ModuleType
from typing import Any
from uuid import UUID

import psycopg

from classifeed_common.db import Database, Tx
from classifeed_jobs import JobContext, JobStore, Registry, Worker
from classifeed_jobs.claim import fetch as claiming
from classifeed_jobs.claim import finish as claims
from classifeed_jobs.claim import guard
from classifeed_jobs.worker import completions

registry = Registry()


@registry.register("zombie")
def zombie(ctx: JobContext, args: dict[str, Any]) -> str:
    """Run in a thread, so that only the fence can stop it: wait for the signal for its claim, then write its effect."""
    with psycopg.connect(ctx.db.dsn, autocommit=True, options="-c search_path=test") as own:
        own.execute("INSERT INTO marks (job_id, claim_no, mark) VALUES (%s, %s, 'started')", [ctx.job_id, ctx.claim_no])
        go = "SELECT FROM marks WHERE job_id = %s AND claim_no = %s AND mark = 'go'"
        while own.execute(go, [ctx.job_id, ctx.claim_no]).fetchone() is None:
            time.sleep(0.02)
        try:
            if args["has_effect"]:
                ctx.call(_effect(ctx))
            return f"claim {ctx.claim_no}"
        finally:
            own.execute(
                "INSERT INTO marks (job_id, claim_no, mark) VALUES (%s, %s, 'over')", [ctx.job_id, ctx.claim_no]
            )


async def _effect(ctx: JobContext) -> None:
    async with ctx.db.transaction() as tx:
        await ctx.guard(tx)
        await tx.execute("INSERT INTO effects (job_id, claim_no) VALUES (%s, %s)", [ctx.job_id, ctx.claim_no])


@registry.register("load")
async def load(ctx: JobContext, args: dict[str, Any]) -> None:
    """Write an interval under the lock key, and an effect that happens once, together with the checkpoint."""
    async with ctx.db.transaction() as tx:
        await ctx.guard(tx)
        await tx.execute(
            "INSERT INTO intervals (job_id, claim_no, lock_key, began) VALUES (%s, %s, %s, clock_timestamp())",
            [ctx.job_id, ctx.claim_no, ctx.lock_key],
        )
    await asyncio.sleep(args["sleep_s"])
    async with ctx.db.transaction() as tx:
        await ctx.guard(tx)
        await tx.execute(
            "UPDATE intervals SET ended = clock_timestamp() WHERE job_id = %s AND claim_no = %s",
            [ctx.job_id, ctx.claim_no],
        )
        if ctx.checkpoint is None:
            await tx.execute("INSERT INTO effects (job_id, claim_no) VALUES (%s, %s)", [ctx.job_id, ctx.claim_no])
            await ctx.save_checkpoint(tx, "done")


def _replace(module: ModuleType, statement: str, old: str, new: str) -> None:
    broken = getattr(module, statement).replace(old, new)
    assert broken != getattr(module, statement)
    setattr(module, statement, broken)


def break_part(part: str) -> None:
    """Break a part of the engine, to show that the tests detect it."""
    if part == "guard":

        async def no_guard(tx: Tx, job_id: UUID, claim_no: int) -> None: ...

        guard.guard_claim = no_guard
    elif part == "finish":
        for name in ("_END", "_FINISH"):
            _replace(claims, name, "AND j.claim_no = e.claim_no", "")
    elif part == "keys":
        for name in ("_CLAIM", "_CLAIM_PLAIN"):
            _replace(claiming, name, "SELECT j.job_id, j.lock_key,", "SELECT j.job_id, NULL AS lock_key,")
    else:
        raise SystemExit(f"nothing called {part!r} to break")


async def main(dsn: str, broken: str | None = None) -> None:
    """Work until SIGTERM."""
    if broken:
        break_part(broken)
    assert completions.complete_claims is claims.complete_claims  # type: ignore[attr-defined]
    database = Database(dsn, schema="test", application_name="worker")
    await database.open()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    worker = Worker(database, JobStore(), registry, queues={"q": 8}, heartbeat_s=0.5, drain_grace_s=5.0)
    await worker.run(stop)
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
