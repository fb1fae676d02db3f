"""A process that claims, as tests play it."""

from __future__ import annotations

from classifeed_jobs.claim.claim import Claim, Ending
from classifeed_jobs.claim.fetch import ClaimAnswer, Turn, claim_jobs
from classifeed_jobs.claim.finish import end_claims
from classifeed_jobs.claim.limits import claim_within_limits
from classifeed_jobs.worker.process_lease import LeaseRow

from .conftest import Bench


class Claimant:
    """A process that claims, by its statements."""

    def __init__(self, bench: Bench, worker_id: str = "w1") -> None:
        self._bench = bench
        self._worker_id = worker_id
        self.turn = Turn()

    async def claim(self, wanted: int) -> list[Claim]:
        async with self._bench.db.connection() as connection:
            await LeaseRow(self._worker_id, ["q"]).register(connection)
            return (
                await claim_jobs(
                    connection, worker_id=self._worker_id, queue="q", wanted=wanted, fresh_s=60, turn=self.turn
                )
            ).claims

    async def claim_within(self, wanted: int) -> ClaimAnswer:
        async with self._bench.db.connection() as connection:
            await LeaseRow(self._worker_id, ["q"]).register(connection)
            answer = await claim_within_limits(
                connection, worker_id=self._worker_id, queue="q", wanted=wanted, fresh_s=60, turn=self.turn
            )
            assert answer is not None
            return answer

    async def end(self, *claims: Claim) -> None:
        async with self._bench.db.transaction() as tx:
            await end_claims(tx, [Ending(claim.job_id, claim.claim_no, "succeeded") for claim in claims])
