"""A process of test_lease_keeper: keeps its share of 64 names, and writes each one's fence under its guard."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

import psycopg

from classifeed_common.db import Database
from classifeed_common.lease import Lease, LeaseKeeper, LeaseLost, Leases

NAMES = [f"shard/{number}" for number in range(64)]


async def main(dsn: str, holder: str, ttl_s: float) -> None:
    db = Database(dsn, schema="test", application_name=holder, idle_in_transaction_s=1.0)
    await db.open()
    leases = Leases(db, holder, ttl_s)
    writers: dict[str, asyncio.Task[None]] = {}

    async def write(lease: Lease) -> None:
        number = int(lease.name.removeprefix("shard/"))
        while True:
            with suppress(LeaseLost, psycopg.Error):
                async with db.transaction() as tx:
                    await leases.guard(tx, lease)
                    await tx.execute(
                        "UPDATE work SET value = %s, fence = %s WHERE id = %s", [holder, lease.fence, number]
                    )
            await asyncio.sleep(0.1)

    async def gain(lease: Lease) -> None:
        writers[lease.name] = asyncio.create_task(write(lease))

    async def lose(lease: Lease) -> None:
        writers.pop(lease.name).cancel()

    await LeaseKeeper(leases, NAMES, on_gain=gain, on_loss=lose, group="indexer").run(asyncio.Event())


asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
