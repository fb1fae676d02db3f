"""Progress of a task's runs: it resets the count of worker deaths (ADR 0032)."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import Tx
from classifeed_jobs import JobContext

# Batches are sent while the next ones are parsed. So a file that kills its reader at one place kills it within two
# chunks of eight batches around this place.
MARGIN_BATCHES: Final = 16


class FurthestBatch:
    """The number of the last batch that an earlier run of a task has sent, stored as the checkpoint of its job.

    Each run begins at the first batch, so sending batches is not progress by definition. It is progress if a run sends
    a batch clearly past those of all earlier runs, or reads the file to its end.
    """

    def __init__(self, ctx: JobContext) -> None:
        self._ctx = ctx
        self._batch_id = int((ctx.checkpoint or {}).get("batch_id", 0))
        self._counts_anew = ctx.claim_no == 1  # nothing can have been counted

    async def note_earlier_run(self, tx: Tx, last_batch_id: int) -> None:
        """Store the last batch of an earlier run, in the transaction that begins the next run.

        Raises:
            ClaimLost: another run of the job has begun.
        """
        if last_batch_id > self._batch_id:
            self._batch_id = last_batch_id
            await self._save(tx, is_progress=False)

    async def note_sending(self, tx: Tx, batch_id: int) -> None:
        """Reset the count of deaths, once per run, if a batch is clearly past those of all earlier runs.

        Raises:
            ClaimLost: another run of the job has begun.
        """
        if not self._counts_anew and batch_id > self._batch_id + MARGIN_BATCHES:
            self._batch_id = batch_id
            await self._save(tx, is_progress=True)
            self._counts_anew = True

    async def note_end(self, tx: Tx) -> None:
        """Reset the count of deaths, because the file was read to its end.

        Raises:
            ClaimLost: another run of the job has begun.
        """
        if self._ctx.claim_no > 1:
            await self._save(tx, is_progress=True)

    async def _save(self, tx: Tx, *, is_progress: bool) -> None:
        await self._ctx.save_checkpoint(tx, {"batch_id": self._batch_id}, is_progress=is_progress)
