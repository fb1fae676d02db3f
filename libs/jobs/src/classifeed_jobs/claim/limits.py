"""Claims from queues with limits over any number of processes (ADR 0020)."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.claim.fetch import ClaimResult, QueueCursor, claim_jobs
from classifeed_jobs.claim.shares import FreeSlots

_SQL = load_queries("classifeed_jobs.claim", "limits.sql")
_LOCK_LIMITS = _SQL["lock_limits"]
_COUNT_RUNNING = _SQL["count_running"]
_SPEND_TOKENS = _SQL["spend_tokens"]
_IS_WAITING = _SQL["is_waiting"]

_SHORTEST_WAIT_S: Final = 0.02


async def claim_within_limits(
    connection: Tx,
    *,
    worker_id: str,
    queue: str,
    wanted: int,
    fresh_s: float,
    cursor: QueueCursor,
    slots: FreeSlots | None = None,
) -> ClaimResult | None:
    """Claim up to `wanted` due jobs of a queue within its limits; the arguments are those of `claim_jobs`.

    The claim runs in a transaction that locks the row of the limits. No other process claims from the queue meanwhile,
    so the count of running jobs can only decrease. They are counted in a statement after the lock, whose snapshot
    includes the claims of the previous lock holder.

    Args:
        connection: Connection in autocommit mode that is not shared.

    Returns:
        The result of the claim; None if the queue has no limits.
    """
    async with connection.transaction():
        row = await (await connection.execute(_LOCK_LIMITS, {"queue": queue})).fetchone()
        if row is None:
            return None
        is_paused, max_running, per_partition, rate_per_s, tokens = row
        if is_paused:
            return ClaimResult(is_shut=True)
        allowed = wanted
        if max_running is not None:
            running = await (await connection.execute(_COUNT_RUNNING, {"queue": queue})).fetchone()
            allowed = min(allowed, max_running - (running[0] if running is not None else 0))
        if rate_per_s is not None:
            allowed = min(allowed, int(tokens))
        response = ClaimResult()
        if allowed > 0:
            response = await claim_jobs(
                connection,
                worker_id=worker_id,
                queue=queue,
                wanted=allowed,
                fresh_s=fresh_s,
                cursor=cursor,
                is_permitted=True,
                per_partition=per_partition,
                slots=slots,
            )
        if rate_per_s is not None:
            if response.claims:
                await connection.execute(_SPEND_TOKENS, {"queue": queue, "spent": len(response.claims)})
            if await _is_held_back(connection, queue, tokens - len(response.claims)):
                missing = 1 - (tokens - len(response.claims))
                response.retry_in_s = max(_SHORTEST_WAIT_S, missing / rate_per_s)
        return response


async def _is_held_back(connection: Tx, queue: str, tokens: float) -> bool:
    """Return whether a job waits only for the rate. If none does, there is no need to poll at the rate's interval."""
    if tokens >= 1:
        return False
    row = await (await connection.execute(_IS_WAITING, {"queue": queue})).fetchone()
    return row is not None and bool(row[0])
