"""A claiming process, simulated by tests."""

from __future__ import annotations

from classifeed_jobs.claim.claim import Claim, Completion
from classifeed_jobs.claim.fetch import ClaimResult, QueueCursor, claim_jobs
from classifeed_jobs.claim.finish import complete_claims
from classifeed_jobs.claim.limits import claim_within_limits
from classifeed_jobs.worker.process_lease import ProcessLease

from .conftest import Bench


class Claimant:
    """A simulated process that claims by statements."""

    def __init__(self, bench: Bench, worker_id: str = "w1") -> None:
        self._bench = bench
        self._worker_id = worker_id
        self.cursor = QueueCursor()

    async def claim(self, wanted: int) -> list[Claim]:
        async with self._bench.db.connection() as connection:
            await ProcessLease(self._worker_id, ["q"]).register(connection)
            return (
                await claim_jobs(
                    connection, worker_id=self._worker_id, queue="q", wanted=wanted, fresh_s=60, cursor=self.cursor
                )
            ).claims

    async def claim_within(self, wanted: int) -> ClaimResult:
        async with self._bench.db.connection() as connection:
            await ProcessLease(self._worker_id, ["q"]).register(connection)
            response = await claim_within_limits(
                connection, worker_id=self._worker_id, queue="q", wanted=wanted, fresh_s=60, cursor=self.cursor
            )
            assert response is not None
            return response

    async def end(self, *claims: Claim) -> None:
        async with self._bench.db.transaction() as tx:
            await complete_claims(tx, [Completion(claim.job_id, claim.claim_no, "succeeded") for claim in claims])
