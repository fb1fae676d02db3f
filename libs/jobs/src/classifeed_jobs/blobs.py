"""Jobs that maintain a service's files: they delete unreferenced files and find missing or corrupt ones.

The engine does not import this module, as it needs no object store. A service that keeps files passes these jobs to
its `ServiceJobs`; it needs no `BlobSweeper` then.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

import structlog

from classifeed_common.blobs import BlobRefs, BlobStore, DamagedBlob, list_damaged
from classifeed_common.blobs.refs import GRACE_S
from classifeed_common.db import Database, Tx
from classifeed_common.db.connection import after_commit
from classifeed_common.telemetry.metrics import BLOBS_DAMAGED, BLOBS_DELETED, BLOBS_UNKNOWN
from classifeed_jobs.maintenance.cleaning import Begin, CleanUp, Upkeep
from classifeed_jobs.model.outcomes import Progress
from classifeed_jobs.model.retry import Exponential
from classifeed_jobs.schedule.schedules import Schedule
from classifeed_jobs.task.context import JobContext
from classifeed_jobs.task.registry import Registry
from classifeed_jobs.task.slices import Cursor, Slice

_log = structlog.get_logger(__name__)

OnDamaged: TypeAlias = Callable[[Tx, Sequence[DamagedBlob]], Awaitable[None]]
"""Records that files must be fetched again, in the transaction of the verification's checkpoint. The files may include
one that is about to be stored, so the reaction must be harmless in that case."""

_SWEEP_EVERY_S: Final = 600
_AUDIT_EVERY_S: Final = 24 * 3600
_VERIFY_EVERY_S: Final = 7 * 24 * 3600
_READ_AT_ONCE: Final = 50


def blob_upkeep(
    service: str,
    database: Database,
    store: BlobStore,
    *,
    grace_s: float | Callable[[], Awaitable[float]] = GRACE_S,
    on_damaged: OnDamaged | None = None,
) -> list[Upkeep]:
    """Return the jobs `<service>.sweep-blobs`, `.audit-blobs` and, with `on_damaged`, `.verify-blobs`.

    Each job has one run at a time over all processes.

    Args:
        service: Name of the service.
        database: Database with the references.
        store: Object store with the service's files.
        grace_s: Seconds for which a file is kept after its last reference was removed; or a function that returns them.
        on_damaged: Callback for damaged files, see `OnDamaged`.
    """
    refs = BlobRefs()

    async def sweep(_begin: Begin, _at: datetime, _cursor: Cursor | None) -> Slice:
        kept_s = grace_s if isinstance(grace_s, int | float) else await grace_s()
        deleted = await refs.sweep(database, store, grace_s=kept_s)
        BLOBS_DELETED.labels(database.schema).inc(deleted)
        return Slice(next=True if deleted else None, processed=deleted)

    async def audit(_begin: Begin, _at: datetime, _cursor: Cursor | None) -> Slice:
        if found := await refs.audit(database, store):
            BLOBS_UNKNOWN.labels(database.schema).inc(found)
            _log.warning("blobs.unknown.found", files=found)
        return Slice(next=None, processed=found)

    jobs: list[Upkeep] = [
        CleanUp(f"{service}.sweep-blobs", [sweep], every_s=_SWEEP_EVERY_S),
        CleanUp(f"{service}.audit-blobs", [audit], every_s=_AUDIT_EVERY_S),
    ]
    if on_damaged is not None:
        jobs.append(BlobVerification(f"{service}.verify-blobs", store, on_damaged, _VERIFY_EVERY_S))
    return jobs


@dataclass(frozen=True, slots=True)
class BlobVerification:
    """Reads every referenced file, in order of the hash, and reports missing and corrupt files.

    A run continues where the previous one stopped, even if its process died. Files are read outside of transactions,
    one at a time.

    Attributes:
        name: Name of its queue, task and schedule.
        store: Object store with the files.
        on_damaged: Callback for damaged files, see `OnDamaged`.
        every_s: Seconds between two verifications.
    """

    name: str
    store: BlobStore
    on_damaged: OnDamaged
    every_s: int = _VERIFY_EVERY_S

    @property
    def schedule(self) -> Schedule:
        """Schedule of the verification; one runs at a time over all processes."""
        return Schedule(self.name, queue=self.name, task=self.name, lock_key=self.name, every_s=self.every_s)

    def tasks(self) -> Registry:
        """Return a registry with its task, for the service's worker."""
        registry = Registry()
        refs = BlobRefs()

        @registry.register(self.name, backoff=Exponential(first_s=5.0, cap_s=300.0), resumes=True)
        async def verify_blobs(ctx: JobContext, _args: dict[str, Any]) -> AsyncIterator[Progress]:
            state = ctx.checkpoint or {"after": "", "read": 0, "is_done": False}
            while not state["is_done"]:
                async with ctx.db.transaction() as tx:
                    hashes = await refs.list_needed(tx, after=state["after"], limit=_READ_AT_ONCE)
                damaged = await list_damaged(self.store, hashes)
                state = {
                    "after": hashes[-1] if hashes else state["after"],
                    "read": state["read"] + len(hashes),
                    "is_done": len(hashes) < _READ_AT_ONCE,
                }
                async with ctx.guarded_transaction() as tx:
                    await self._report_damaged(tx, ctx.db.schema, refs, damaged)
                    await ctx.save_checkpoint(tx, state)
                yield Progress(processed=state["read"])

        return registry

    async def _report_damaged(self, tx: Tx, schema: str, refs: BlobRefs, damaged: Sequence[DamagedBlob]) -> None:
        # A file that was swept meanwhile is not damaged.
        needed = await refs.filter_needed(tx, [each.sha256 for each in damaged])
        found = [each for each in damaged if each.sha256 in needed]
        if not found:
            return
        await self.on_damaged(tx, found)

        def report() -> None:
            for each in found:
                BLOBS_DAMAGED.labels(schema, each.fault).inc()
                _log.error("blobs.damaged.found", sha256=each.sha256, fault=each.fault)

        after_commit(tx, report)
