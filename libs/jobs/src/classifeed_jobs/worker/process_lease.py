"""ProcessLease: the row that is the lease of all runs of a worker process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.claim.claim import ClaimKey
from classifeed_jobs.claim.literals import array

_SQL = load_queries("classifeed_jobs.worker", "process_lease.sql")
_REGISTER = _SQL["register_worker"]
_RENEW = _SQL["renew_worker"]
_LEAVE = _SQL["leave_worker"]
_HELD = _SQL["claims_held"]
_HELD_OF = _SQL["claims_held_of"]


class ProcessLease:
    """The row of one process in dl_workers. A job is lost when `renewed_at` is older than the job's lease time."""

    def __init__(self, worker_id: str, queues: Sequence[str], hook_tasks: Sequence[str] = ()) -> None:
        self.worker_id = worker_id
        self._queues = list(queues)
        self._hook_tasks = list(hook_tasks)

    async def register(self, tx: Tx) -> None:
        """Create the row, or renew it if it exists. Idempotent."""
        row = {"worker": self.worker_id, "queues": self._queues, "hook_tasks": self._hook_tasks}
        await tx.execute(_REGISTER, row)

    async def renew(self, tx: Tx) -> bool:
        """Renew the lease. Return False if the row was removed after a long silence, and its claims are lost."""
        cursor = await tx.execute(_RENEW, {"worker": self.worker_id})
        return cursor.rowcount == 1

    async def held(self, tx: Tx) -> dict[ClaimKey, bool]:
        """Return the claims that this process holds in the database, with whether each was canceled."""
        rows = await (await tx.execute(_HELD, {"worker": self.worker_id})).fetchall()
        return _by_key(rows)

    async def held_of(self, tx: Tx, job_ids: Iterable[UUID]) -> dict[ClaimKey, bool]:
        """Return the current claims of these jobs, of any process, with whether each was canceled."""
        request = {"job_ids": array(job_id.hex for job_id in job_ids)}
        return _by_key(await (await tx.execute(_HELD_OF, request)).fetchall())

    async def leave(self, tx: Tx) -> None:
        """Remove the row, unless jobs are still running under it. Idempotent."""
        await tx.execute(_LEAVE, {"worker": self.worker_id})


def _by_key(rows: Iterable[tuple[UUID, int, bool]]) -> dict[ClaimKey, bool]:
    return {(job_id.int, claim_no): is_canceled for job_id, claim_no, is_canceled in rows}
