"""Backups, restores and changes of the state in tests, and comparisons of the state."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from classifeed.jobs.v1.job_pb2 import JOB_STATUS_FAILED, JOB_STATUS_SUCCEEDED, Job
from classifeed.jobs.v1.job_service_pb2 import GetJobRequest
from classifeed.pictures.v1.picture_service_pb2 import RestoreBackupRequest
from classifeed_common.blobs import BlobStore
from classifeed_common.blobs.client import S3Client
from classifeed_common.db import Database, Tx
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.recovery import until
from classifeed_pictures.app.backups.make_backup import MakeBackup
from classifeed_pictures.clients.backup_bucket import BackupBucket
from classifeed_pictures.parts.outside import bucket_client
from classifeed_pictures.store.states.records import unpack_holdings

from .conftest import Service

STATE: Final = (
    "pictures", "requests_in_flight", "settled_requests", "stored_pictures", "blob_refs", "blobs", "namespace_usage",
    "outbox", "event_files", "namespaces",
)  # fmt: skip
_STORED: Final = "SELECT namespace, group_id, name, url_hash, content_hash, total_bytes FROM stored_pictures"
_ENDED: Final = (JOB_STATUS_SUCCEEDED, JOB_STATUS_FAILED)


@asynccontextmanager
async def bucket_of(service: Service) -> AsyncIterator[BackupBucket]:
    client = bucket_client(service.settings)
    yield BackupBucket(client, service.settings.bucket)
    client.close()


@asynccontextmanager
async def bucket_at(s3: EmbeddedS3, blobs: BlobStore) -> AsyncIterator[BackupBucket]:
    client = S3Client(s3.endpoint, s3.access_key, s3.secret_key, threads=1, retries=0)
    yield BackupBucket(client, blobs._bucket)
    client.close()


class Run:
    """The context of a job whose claim is never lost."""

    checkpoint: Any = None

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def guarded_transaction(self) -> AsyncIterator[Tx]:
        async with self._database.transaction() as tx:
            yield tx

    async def save_checkpoint(self, tx: Tx, checkpoint: Any) -> None:
        self.checkpoint = checkpoint


async def make_backup(
    service: Service, *, kept: int = 3, shard_states: int = 3, between: Callable[[], Any] | None = None
) -> str:
    """Make a backup of many shards, and return its name; `between` is awaited after the second shard."""
    async with bucket_of(service) as bucket:
        make = MakeBackup(
            service.database, bucket, lambda: "rules", service.settings.spool_dir, kept, shard_states=shard_states
        )
        number = 0
        async for _ in make():
            number += 1
            if number == 2 and between is not None:
                await between()
        return (await bucket.list_complete())[-1]


async def restore(service: Service, name: str) -> Job:
    """Restore a backup by the RPC, and return the completed job."""
    response = await service.pictures.RestoreBackup(RestoreBackupRequest(name=name))
    return await ended(service, response.job_id)


async def ended(service: Service, job_id: str) -> Job:
    job = Job()

    async def is_over() -> bool:
        nonlocal job
        job = await service.jobs.GetJob(GetJobRequest(job_id=job_id))
        return job.status in _ENDED

    await until(is_over)
    return job


async def destroy(service: Service) -> None:
    """Delete the state but keep the positions, so that the processor does not read later events again."""
    async with service.database.transaction() as tx:
        await tx.execute(f"TRUNCATE {', '.join(STATE)}")


async def snapshot(service: Service) -> dict[str, Any]:
    """Return the state without attempts and times."""
    states = await service.rows("SELECT url, is_put, failure IS NULL, holdings FROM pictures")
    return {
        "states": {
            url: (is_put, is_fine, _held(holdings)) for url, is_put, is_fine, holdings in states
        },
        "requests": set(await service.rows("SELECT requested_url, namespace, reference FROM requests_in_flight")),
        "settled": set(await service.rows("SELECT requested_url, namespace, reference FROM settled_requests")),
        "stored": set(await service.rows(_STORED)),
        "references": set(await service.rows("SELECT ref, sha256 FROM blob_refs")),
        "files": set(await service.rows("SELECT sha256, ref_count FROM blobs WHERE ref_count > 0")),
        "usage": set(
            await service.rows("SELECT namespace, slot, pictures, bytes FROM namespace_usage WHERE pictures > 0")
        ),
        "namespaces": set(await service.rows("SELECT name, sizes::text, formats::text FROM namespaces")),
    }  # fmt: skip


def _held(holdings: bytes) -> dict[str, tuple[int, str] | None]:
    return {
        namespace: (holding.info.group_id, holding.info.name) if holding.info is not None else None
        for namespace, holding in unpack_holdings(holdings).items()
    }


async def dump(service: Service) -> dict[str, list[Any]]:
    """Return every row of the state and all positions, without marks, which change all the time."""
    return {
        table: sorted(map(str, await service.rows(f"SELECT (to_jsonb(t) - 'mark')::text FROM {table} t")))
        for table in (*STATE, "consumer_offsets")
    }


def change_file(service: Service, name: str, change: Callable[[bytes], bytes | None]) -> Callable[[], None]:
    """Change or remove an object of the bucket; return a function that puts it back."""
    client = bucket_client(service.settings)
    minio, bucket = client._minio, service.settings.bucket
    response = minio.get_object(bucket, name)
    content = response.read()
    response.close()
    response.release_conn()
    changed = change(content)
    if changed is None:
        minio.remove_object(bucket, name)
    else:
        minio.put_object(bucket, name, io.BytesIO(changed), len(changed))

    def put_back() -> None:
        minio.put_object(bucket, name, io.BytesIO(content), len(content))
        client.close()

    return put_back
