"""Transactions that hold only while the job's claim does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from classifeed_common.db import Tx
from classifeed_jobs import JobContext


@asynccontextmanager
async def guarded(ctx: JobContext) -> AsyncIterator[Tx]:
    """A transaction that commits only if no other run of the job has begun.

    Raises:
        ClaimLost: the job is somebody else's now.
    """
    async with ctx.db.transaction() as tx:
        await ctx.guard(tx)
        yield tx
