"""For tests of what happens when a process of workers stands still or dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Final

from classifeed_common.db import Database

_PERIOD_S: Final = 0.1
# Worker ids are host:pid:random.
_LOSE: Final = """
UPDATE dl_workers SET renewed_at = renewed_at - interval '1 day'
WHERE split_part(worker_id, ':', 2) = ANY (%(pids)s) AND renewed_at > clock_timestamp() - interval '12 hours'
"""


async def lose_leases(database: Database, pids: Collection[int]) -> int:
    """Do at once what the time of a lease does: whoever looks takes over the jobs of these processes of this host.

    A process that was stopped or killed may have sent a renewal that the server has not read yet, and gets its lease
    back by it: do it again, or use `lost_lease`.

    Returns:
        How many workers have lost theirs.
    """
    async with database.transaction() as tx:
        return (await tx.execute(_LOSE, {"pids": [str(pid) for pid in pids]})).rowcount


@asynccontextmanager
async def lost_lease(database: Database, pid: int) -> AsyncIterator[None]:
    """Take the lease from a process of this host, as `lose_leases` does, and again whenever it has it, until the block
    ends.

    Raises:
        AssertionError: the process has no lease to lose.
    """

    async def lose_again() -> None:
        while True:
            await asyncio.sleep(_PERIOD_S)
            await lose_leases(database, [pid])

    assert await lose_leases(database, [pid]) == 1
    async with asyncio.TaskGroup() as group:
        losing = group.create_task(lose_again())
        yield
        losing.cancel()
