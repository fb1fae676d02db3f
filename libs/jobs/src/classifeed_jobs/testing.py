"""Helpers for tests of worker processes that are suspended or die."""

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
    """Expire the leases of processes of this host, so that the next reaper poll requeues their jobs.

    A process that was stopped or killed may have sent a renewal that the server has not read yet. It renews the lease:
    call this function again, or use `lost_lease`.

    Returns:
        Number of workers whose lease expired.
    """
    async with database.transaction() as tx:
        return (await tx.execute(_LOSE, {"pids": [str(pid) for pid in pids]})).rowcount


@asynccontextmanager
async def lost_lease(database: Database, pid: int) -> AsyncIterator[None]:
    """Expire the lease of a process of this host, and prevent its renewal until the block ends.

    Repeated calls of `lose_leases` are not enough: a reaper that polls just after each renewal would find no lost jobs.

    Raises:
        AssertionError: The process has no lease.
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
