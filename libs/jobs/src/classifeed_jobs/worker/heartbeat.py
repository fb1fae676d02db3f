"""Heartbeat: renews the process's lease, and stops its runs when they were canceled or their claim was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from uuid import UUID

import structlog

from classifeed_common.db import Tx
from classifeed_common.loops import Loop
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.pacing.duty_cycle import DutyCycle
from classifeed_jobs.claim.claim import RETURNED, ClaimKey, Completion
from classifeed_jobs.claim.guard import save_progress
from classifeed_jobs.worker.completions import Completions
from classifeed_jobs.worker.process_lease import ProcessLease
from classifeed_jobs.worker.run import Run
from classifeed_jobs.worker.session import Session

_log = structlog.get_logger("classifeed_jobs.worker.heartbeat")
_RETRY_S = 0.5
_BEAT_TIMEOUT_S = 10.0
_BEATS_PER_LEASE = 3
# Claims wait for the listing, which uses their connection. It only finds claims of broken connections, so it is rare.
_LISTING_TIMES = 100.0
_LISTING_LONGEST_S = 60.0


class Heartbeat:
    """Renews the lease of all runs of the process in one UPDATE.

    Args:
        session: Connection of the worker.
        lease: Lease row of the process.
        runs: Active runs by claim; the worker's mapping, read at each heartbeat.
        completions: Queue of unwritten completions.
        heartbeat_s: Seconds between two heartbeats; fewer while a job with a short lease runs.
    """

    def __init__(
        self,
        session: Session,
        lease: ProcessLease,
        runs: Mapping[ClaimKey, Run],
        completions: Completions,
        *,
        heartbeat_s: float,
    ) -> None:
        self._session = session
        self._lease = lease
        self._runs = runs
        self._completions = completions
        self._unknown: set[ClaimKey] = set()
        self._listing = DutyCycle(_LISTING_TIMES, longest_s=_LISTING_LONGEST_S)
        self._heartbeat_s = heartbeat_s
        self._soon = asyncio.Event()
        self.loop = Loop(
            self._beat_in_time,
            period_s=heartbeat_s,
            name="leases",
            doing="renewing leases",
            effect="Running jobs go to other processes",
            backoff=Backoff(_RETRY_S),
            wake=self._soon,
            event="worker.heartbeat.failed",
        )

    def beat_soon(self) -> None:
        """Send a heartbeat now."""
        self._soon.set()

    def started(self, lease_ttl_s: int) -> None:
        """Handle the start of a run: a short lease causes an earlier heartbeat."""
        if lease_ttl_s / _BEATS_PER_LEASE < self._heartbeat_s:
            self._soon.set()

    async def run(self) -> None:
        """Send heartbeats until cancelled. Errors are retried; the lease may expire meanwhile."""
        await self.loop.run(asyncio.Event())

    def blocked(self) -> Mapping[str, str]:
        """Return why the lease cannot be renewed, if that has failed for some time."""
        return self.loop.blocked()

    async def _beat_in_time(self) -> float:
        async with asyncio.timeout(_BEAT_TIMEOUT_S):
            await self._beat()
        return self._period_s()

    def _period_s(self) -> float:
        shortest = min((run.claim.lease_ttl_s for run in self._runs.values()), default=None)
        return self._heartbeat_s if shortest is None else min(self._heartbeat_s, shortest / _BEATS_PER_LEASE)

    async def _beat(self) -> None:
        before = dict(self._runs)
        async with self._session.use() as connection:
            if not await self._lease.renew(connection):
                await self._lease.register(connection)
            is_full_scan = self._listing.is_due
            held = await self._held(connection, before, is_full_scan=is_full_scan)
            reports = {
                key: report for key, run in before.items() if (report := run.context.unsaved_progress) is not None
            }
            if reports:
                await save_progress(
                    connection, {(before[key].claim.job_id, key[1]): report for key, report in reports.items()}
                )
        for key, run in before.items():
            if run.context.unsaved_progress is reports.get(key):  # no newer report
                run.context.unsaved_progress = None
            if key not in self._runs:
                continue  # it has ended meanwhile
            if key not in held:
                _log.warning("worker.claim.lost", job_id=str(run.claim.job_id), claim_no=key[1], task=run.claim.task)
                run.stop("lost")
            elif held[key]:
                run.stop("cancel")
        if is_full_scan:
            self._hand_back_unknown(held)

    async def _held(self, connection: Tx, runs: Mapping[ClaimKey, Run], *, is_full_scan: bool) -> dict[ClaimKey, bool]:
        if not is_full_scan:
            return await self._lease.held_of(connection, [run.claim.job_id for run in runs.values()])
        # While a long-running transaction is open, this also scans dead entries of completed jobs.
        with self._listing.timed():
            return await self._lease.held(connection)

    def _hand_back_unknown(self, held: Mapping[ClaimKey, bool]) -> None:
        # If the response of a claim was lost with its connection, the database shows the claim as held and the lease is
        # renewed, but no run exists. At the first heartbeat the response may still arrive; at the second it is lost.
        unknown = {key for key in held if key not in self._runs and not self._completions.is_pending(key)}
        for number, claim_no in unknown & self._unknown:
            job_id = UUID(int=number)
            _log.warning("worker.claim.unknown", job_id=str(job_id), claim_no=claim_no)
            self._completions.put(Completion(job_id, claim_no, RETURNED))
        self._unknown = unknown
