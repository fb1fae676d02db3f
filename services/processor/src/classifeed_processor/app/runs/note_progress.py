"""How far the runs of a task have come, so that deaths of the worker count from the last progress on (ADR 0032)."""

from __future__ import annotations

from typing import Final

from classifeed_common.db import Tx
from classifeed_jobs import JobContext

# Batches are sent while the next ones are parsed, so a file that kills its reader at one place dies within two chunks
# of eight around it.
MARGIN_BATCHES: Final = 16


class FurthestBatch:
    """The number of the last batch that any earlier run of a task sent, kept as the checkpoint of its job.

    A run begins at the first batch again: that it sends batches is no progress. That it sends one clearly past all of
    the earlier runs is, and that it was read to its end.
    """

    def __init__(self, ctx: JobContext) -> None:
        self._ctx = ctx
        self._batch_id = int((ctx.checkpoint or {}).get("batch_id", 0))
        self._counts_anew = ctx.claim_no == 1  # nothing can have been counted

    async def note_earlier_run(self, tx: Tx, last_batch_id: int) -> None:
        """Note where an earlier run ended, in the transaction that begins the next one.

        Raises:
            ClaimLost: another run of the job has begun.
        """
        if last_batch_id > self._batch_id:
            self._batch_id = last_batch_id
            await self._save(tx, is_progress=False)

    async def note_sending(self, tx: Tx, batch_id: int) -> None:
        """Have deaths count anew, once in a run, when this batch lies clearly past those of all earlier runs.

        Raises:
            ClaimLost: another run of the job has begun.
        """
        if not self._counts_anew and batch_id > self._batch_id + MARGIN_BATCHES:
            self._batch_id = batch_id
            await self._save(tx, is_progress=True)
            self._counts_anew = True

    async def note_end(self, tx: Tx) -> None:
        """Have deaths count anew: the file was read to its end, and nobody died of it.

        Raises:
            ClaimLost: another run of the job has begun.
        """
        if self._ctx.claim_no > 1:
            await self._save(tx, is_progress=True)

    async def _save(self, tx: Tx, *, is_progress: bool) -> None:
        await self._ctx.save_checkpoint(tx, {"batch_id": self._batch_id}, is_progress=is_progress)
