"""Writes of a run while it holds its claim: effects, checkpoints and progress, fenced by claim_no (ADR 0014)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.model.outcomes import ClaimLost, Progress
from classifeed_jobs.model.storable import json_text

_SQL = load_queries("classifeed_jobs.claim", "guard.sql")
_GUARD = _SQL["guard_claim"]
_SAVE_CHECKPOINT = _SQL["save_checkpoint"]
_SAVE_PROGRESS = _SQL["save_progress"]


async def guard_claim(tx: Tx, job_id: UUID, claim_no: int) -> None:
    """Hold the claim until the transaction ends.

    Raises:
        ClaimLost: The claim is no longer held.
    """
    cursor = await tx.execute(_GUARD, {"job_id": job_id, "claim_no": claim_no})
    if await cursor.fetchone() is None:
        raise _lost(job_id, claim_no)


async def save_checkpoint(tx: Tx, job_id: UUID, claim_no: int, checkpoint: Any, *, is_progress: bool = True) -> None:
    """Store the checkpoint from which the next run resumes, and guard the claim.

    The transaction is that of the effects before the checkpoint. With `is_progress`, the counts of worker deaths and
    unknown faults are reset to zero.

    Raises:
        ClaimLost: The claim is no longer held.
        NotStorable: The checkpoint exceeds the limits of the engine.
    """
    text = json_text("checkpoint", checkpoint)
    await guard_claim(tx, job_id, claim_no)
    parameters = {"job_id": job_id, "claim_no": claim_no, "checkpoint": text, "is_progress": is_progress}
    await tx.execute(_SAVE_CHECKPOINT, parameters)


async def save_progress(tx: Tx, reports: Mapping[tuple[UUID, int], Progress]) -> None:
    """Store progress of claims that are still held; other claims are ignored."""
    parameters = {
        "job_ids": [job_id for job_id, _ in reports],
        "claim_nos": [claim_no for _, claim_no in reports],
        "progress": [Jsonb(progress.to_json()) for progress in reports.values()],
    }
    await tx.execute(_SAVE_PROGRESS, parameters)


def _lost(job_id: UUID, claim_no: int) -> ClaimLost:
    return ClaimLost(f"claim {claim_no} of job {job_id} is no longer held: its lease expired, or the job was completed")
