"""For tests of what happens when a process of workers stands still or dies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Final

from classifeed_common.db import Database

# Worker ids are host:pid:random.
_LOSE: Final = """
UPDATE dl_workers SET renewed_at = renewed_at - interval '1 day'
WHERE split_part(worker_id, ':', 2) = ANY (%(pids)s) AND renewed_at > clock_timestamp() - interval '12 hours'
"""
_KEEP_LOST: Final = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.renewed_at := least(NEW.renewed_at, OLD.renewed_at);
    RETURN NEW;
END $$;
CREATE TRIGGER {name} BEFORE UPDATE ON dl_workers
    FOR EACH ROW WHEN (split_part(NEW.worker_id, ':', 2) = '{pid}') EXECUTE FUNCTION {name}()
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
    """Take the lease from a process of this host, as `lose_leases` does, and keep it from getting it back until the
    block ends. Taking it again and again would not do: who looks for lost jobs just after each renewal would find none.

    Raises:
        AssertionError: the process has no lease to lose.
    """
    name = f"lose_lease_of_{pid}"
    async with database.transaction() as tx:
        await tx.execute(_KEEP_LOST.format(name=name, pid=pid))
    try:
        assert await lose_leases(database, [pid]) == 1
        yield
    finally:
        async with database.transaction() as tx:
            await tx.execute(f"DROP FUNCTION {name} CASCADE")
