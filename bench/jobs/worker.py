"""A worker process that the bench kills: `python -m bench.jobs.worker DSN CONCURRENCY`."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

from bench.jobs.engines.ours import Engine
from classifeed_jobs import JobContext, Reaper, Registry

registry = Registry()


@registry.register("noop")
async def noop(_: JobContext, __: dict[str, Any]) -> None: ...


@registry.register("wait")
async def wait(_: JobContext, __: dict[str, Any]) -> None:
    await asyncio.Event().wait()


async def main(dsn: str, concurrency: int) -> None:
    """Run a worker and a reaper until SIGTERM."""
    engine = Engine()
    await engine.open(dsn)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await asyncio.gather(engine.worker(registry, concurrency).run(stop), Reaper(engine.db).run(stop))
    await engine.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
