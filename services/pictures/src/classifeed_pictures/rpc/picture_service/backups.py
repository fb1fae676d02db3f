"""Methods for backups of the state."""

from __future__ import annotations

from classifeed.pictures.v1.picture_service_pb2 import (
    Backup,
    ListBackupsRequest,
    ListBackupsResponse,
    RestoreBackupRequest,
    RestoreBackupResponse,
)
from classifeed_common.db import Database
from classifeed_common.errors import NotFound
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_jobs import JobStore
from classifeed_pictures.clients.backup_bucket import BackupBucket
from classifeed_pictures.domain.backups import BackupFault, Manifest
from classifeed_pictures.jobs.backup import enqueue_restore
from classifeed_pictures.store.backups.backup_columns import SHARDED


class BackupMethods:
    """Lists backups and restores them.

    Args:
        database: database with the jobs.
        jobs: job store for the restore.
        bucket: bucket with the backups.
    """

    def __init__(self, database: Database, jobs: JobStore, bucket: BackupBucket) -> None:
        self._database = database
        self._jobs = jobs
        self._bucket = bucket

    async def ListBackups(self, request: ListBackupsRequest, context: Context) -> ListBackupsResponse:
        """Return the complete backups, newest first; one with an unreadable manifest has only its name and fault."""
        return ListBackupsResponse(backups=[await self._find(name) for name in await self._names()])

    async def RestoreBackup(self, request: RestoreBackupRequest, context: Context) -> RestoreBackupResponse:
        """Enqueue the restore of a backup; the job checks it before it changes anything."""
        names = await self._names()
        name = request.name or (names[0] if names else "")
        if name not in names:
            raise NotFound(
                "BACKUP_UNKNOWN",
                f"There is no complete backup {name!r}. `classifeed picture backups` lists them."
                if name
                else "There is no complete backup yet.",
            )
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            job_id = await enqueue_restore(self._jobs, tx, name)
        return RestoreBackupResponse(name=name, job_id=str(job_id))

    async def _names(self) -> list[str]:
        return (await self._bucket.list_complete())[::-1]

    async def _find(self, name: str) -> Backup:
        try:
            manifest = await self._bucket.read_manifest(name)
        except BackupFault as fault:
            return Backup(name=name, fault=str(fault))
        return _message(manifest) if manifest is not None else Backup(name=name, fault="it was removed")


def _message(manifest: Manifest) -> Backup:
    states, requests, stored, _ = map(manifest.rows_of, SHARDED)
    message = Backup(
        name=manifest.name,
        states=states,
        waiting_requests=requests,
        stored_pictures=stored,
        size_bytes=manifest.size_bytes,
        shards=manifest.shards,
        partitions=manifest.partitions,
        rules_version=manifest.rules,
    )
    message.begin_time.FromDatetime(manifest.began_at)
    message.end_time.FromDatetime(manifest.ended_at)
    return message
