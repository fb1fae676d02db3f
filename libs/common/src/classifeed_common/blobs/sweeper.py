"""BlobSweeper: deletes files of a service that have no reference any more."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from classifeed_common.blobs.refs import GRACE_S, BlobRefs
from classifeed_common.blobs.store import BlobStore
from classifeed_common.db import Database
from classifeed_common.loops import Loop, Looping
from classifeed_common.telemetry.metrics import BLOBS_DELETED, BLOBS_UNKNOWN

_SWEEP_EVERY_S: Final = 600.0
_AUDIT_EVERY_S: Final = 24 * 60 * 60.0

_log = structlog.get_logger(__name__)


class BlobSweeper(Looping):
    """Sweeps every ten minutes and audits once a day, in each process; several may run at once.

    Args:
        database: database of the references.
        store: store of the same service's files.
        grace_s: time a file is kept after its last reference is removed, in seconds.
        sweep_every_s: pause between two sweeps, in seconds.
    """

    def __init__(
        self, database: Database, store: BlobStore, *, grace_s: float = GRACE_S, sweep_every_s: float = _SWEEP_EVERY_S
    ) -> None:
        self._database = database
        self._store = store
        self._refs = BlobRefs()
        self._grace_s = grace_s
        self._audit_at_s = 0.0
        self.loop = Loop(
            self._sweep_once,
            period_s=sweep_every_s,
            name="files",
            doing="removing files that are not needed",
            effect="They stay in S3",
        )

    async def _sweep_once(self) -> bool:
        if (now_s := asyncio.get_running_loop().time()) >= self._audit_at_s:
            await self._audit()
            self._audit_at_s = now_s + _AUDIT_EVERY_S
        return await self._sweep() > 0

    async def _audit(self) -> None:
        if found := await self._refs.audit(self._database, self._store):
            BLOBS_UNKNOWN.labels(self._database.schema).inc(found)
            _log.warning("blobs.unknown.found", files=found, grace_s=self._grace_s)

    async def _sweep(self) -> int:
        deleted = await self._refs.sweep(self._database, self._store, grace_s=self._grace_s)
        BLOBS_DELETED.labels(self._database.schema).inc(deleted)
        return deleted
