"""Times of the fetcher's polls."""

from __future__ import annotations

import asyncio

from classifeed_jobs.claim.claim import Claim
from classifeed_jobs.worker.fetcher import Fetcher
from classifeed_jobs.worker.process_lease import ProcessLease
from classifeed_jobs.worker.session import Session

from ..conftest import Bench, until


async def test_wake_during_a_poll_is_not_lost(bench: Bench) -> None:
    """The reported job may have been enqueued after the claim of that poll."""
    looks = 0
    started: list[Claim] = []

    def room(queue: str) -> int:
        nonlocal looks
        looks += 1
        if looks == 2:  # the first poll registers the lease row and is repeated
            claimer.wake()
        return 1

    session = Session(bench.db)
    claimer = Fetcher(
        session,
        session,
        ProcessLease("w1", ["q"]),
        ["q"],
        room=room,
        start=started.append,
        claim_backoff_s=3600.0,
        fresh_s=60.0,
    )
    running = asyncio.create_task(claimer.run())

    async def polled_again() -> bool:
        return looks >= 3

    try:
        await until(polled_again)
    finally:
        claimer.close()
        await running
        await session.close()
    assert started == []


async def test_fault_is_followed_by_a_poll_of_everything(bench: Bench) -> None:
    """A failed poll must be repeated: its job is still waiting."""
    started: list[Claim] = []
    lease = ProcessLease("w1", ["q"])
    async with bench.db.connection() as connection:
        await lease.register(connection)
    job_id = await bench.enqueue()
    faults = iter([True, True, False])

    def room(queue: str) -> int:
        if next(faults, False):
            raise ConnectionError("gone")
        return 1

    session = Session(bench.db)
    claimer = Fetcher(
        session, session, lease, ["q"], room=room, start=started.append, claim_backoff_s=3600.0, fresh_s=60.0
    )
    running = asyncio.create_task(claimer.run())

    async def has_started() -> bool:
        return bool(started)

    try:
        await until(has_started)
    finally:
        claimer.close()
        await running
        await session.close()
    assert [claim.job_id for claim in started] == [job_id]
