"""Backups of the state with real PostgreSQL, Kafka and S3: made while events flow, restored, and compared."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from classifeed.jobs.v1.job_pb2 import JOB_STATUS_FAILED, JOB_STATUS_SUCCEEDED
from classifeed.jobs.v1.job_service_pb2 import PauseQueueRequest, ResumeQueueRequest
from classifeed.pictures.v1.picture_service_pb2 import (
    DeletePicturesRequest,
    ListBackupsRequest,
    PutPictureRequest,
    RestoreBackupRequest,
)
from classifeed_common.kafka import Cluster
from classifeed_devkit.testing.recovery import until
from classifeed_pictures.app.backups.measure_backups import MeasureBackups, needed_grace_s
from classifeed_pictures.domain.backups import name_at
from classifeed_pictures.jobs.backup import RESTORE

from ..backup_runs import bucket_of, change_file, destroy, dump, ended, make_backup, restore, snapshot
from ..conftest import Service, is_read
from ..picture_host import PictureHost, jpeg
from ..samples import value

OTHER_RULES = {"strip_fragment": True, "strip_www": False, "tracking_parameters": ["of-a-test"]}
MOVED = "INSERT INTO canonical_rules (version, document, rekeyed_at) VALUES ('of a test', %s, now()) RETURNING 1"
IS_MOVED = "SELECT 1 FROM canonical_rules WHERE version = 'of a test' AND rekeyed_at IS NOT NULL"

_WAITS = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO \"namespaces\"%%'"
IS_UNDER_WAY = f"SELECT 1 {_WAITS}"
STRIKE = f"SELECT pg_terminate_backend(pid) {_WAITS}"


@pytest.fixture
def options() -> dict[str, Any]:
    return {"backup_s": 10**9}  # only the tests make backups


async def test_a_restored_state_equals_an_undisturbed_one(service: Service, host: PictureHost) -> None:
    urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(16)]
    missing = host.url("/missing.jpg")
    await service.request(urls[:8], prefix="a")
    await service.request([urls[0], missing], namespace="shops", prefix="b")
    await service.pictures.PutPicture(iter([PutPictureRequest(url="by-hand", namespace="shops", data=jpeg(99))]))
    await service.results(10)

    async def go_on() -> None:
        await service.request(urls[8:12], prefix="c")
        await service.results(4)
        await service.pictures.DeletePictures(DeletePicturesRequest(urls=[urls[1], urls[11]]))

    name = await make_backup(service, between=go_on)
    await service.request(urls[10:], prefix="d")
    await service.request(urls[4:6], namespace="shops", prefix="e")
    await service.pictures.DeletePictures(DeletePicturesRequest(urls=[urls[2]]))
    await service.results(8)

    async def is_quiet() -> bool:
        found = await snapshot(service)
        gone = {urls[1], urls[2]}
        return (
            not gone & set(found["states"])
            and {reference for _, _, reference in found["requests"]} == {"b1"}  # it waits for its next attempt
            and len(found["stored"]) == 14 + 3 + 1
            and await service.rows("SELECT 1 FROM outbox") == []
        )

    await until(is_quiet)
    undisturbed = await snapshot(service)
    await service.rows(MOVED, json.dumps(OTHER_RULES))
    await destroy(service)
    assert (await restore(service, name)).status == JOB_STATUS_SUCCEEDED
    # Later events come after all that are applied again.
    await service.request([urls[3]], prefix="z")

    def without_last(found: dict[str, Any]) -> dict[str, Any]:
        return found | {"settled": {request for request in found["settled"] if request[2] != "z0"}}

    async def is_equal() -> bool:
        return without_last(await snapshot(service)) == undisturbed

    try:
        await until(is_equal)
    except TimeoutError:
        assert without_last(await snapshot(service)) == undisturbed
        raise
    # Keys of the backup may be older than the rules, so a job checks them again.
    assert await service.rows(IS_MOVED) == []
    for sha256, _ in await service.rows("SELECT sha256, ref_count FROM blobs WHERE ref_count > 0"):
        await service.blobs.verify(sha256)


async def test_a_damaged_file_is_named_before_anything_is_changed(service: Service, host: PictureHost) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="no complete backup"):
        await service.pictures.RestoreBackup(RestoreBackupRequest())
    urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(4)]
    await service.request(urls)
    await service.results(4)
    name = await make_backup(service)
    [backup] = (await service.pictures.ListBackups(ListBackupsRequest())).backups
    assert (backup.name, backup.states, backup.stored_pictures, backup.shards) == (name, 4, 4, 2)
    await service.request([host.put("/later.jpg", jpeg(7))])
    await service.results(1)
    await until(lambda: is_at_rest(service))
    before = await dump(service)
    file = f"backups/files/{name}/00001-stored_pictures.parquet"
    for key, change in {
        file: lambda content: content[:100] + bytes([content[100] ^ 1]) + content[101:],
        f"{file} ": lambda content: content[:-10],
        f"{file}  ": lambda content: None,
        f"backups/manifests/{name}.json": lambda content: content[:-10],
    }.items():
        put_back = await asyncio.to_thread(change_file, service, key.strip(), change)
        job = await restore(service, name)
        await asyncio.to_thread(put_back)
        assert job.status == JOB_STATUS_FAILED
        assert "nothing was changed" in job.error
        assert ("00001-stored_pictures.parquet" if "files" in key else f"manifest of {name}") in job.error
        assert await dump(service) == before


async def is_sent(service: Service) -> bool:
    return await service.rows("SELECT 1 FROM outbox") == []


async def is_at_rest(service: Service) -> bool:
    """Return whether all messages are sent and processed; others may see a message before its transaction commits."""
    cluster = Cluster(service.settings.kafka_bootstrap, client_id="test")
    return await is_sent(service) and await is_read(service.database, cluster)


async def test_a_restore_that_is_struck_is_done_again_as_a_whole(service: Service, host: PictureHost) -> None:
    """It is killed after the rows were restored and before the positions were."""
    urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(4)]
    await service.request(urls)
    await service.results(4)
    await until(lambda: is_sent(service))
    backed_up = await snapshot(service)
    name = await make_backup(service)
    await service.request([host.put("/later.jpg", jpeg(7))])
    await service.results(1)
    await until(lambda: is_at_rest(service))
    before = await dump(service)
    async with service.database.transaction() as tx:
        await tx.execute("LOCK TABLE namespaces IN SHARE MODE")
        response = await service.pictures.RestoreBackup(RestoreBackupRequest(name=name))
        await until(lambda: strike(service, IS_UNDER_WAY))
        await service.jobs.PauseQueue(PauseQueueRequest(queue=RESTORE))  # so that it waits for its next attempt
        assert await strike(service, STRIKE)
    await until(lambda: is_untouched(service, before))
    await service.jobs.ResumeQueue(ResumeQueueRequest(queue=RESTORE))
    assert (await ended(service, response.job_id)).status == JOB_STATUS_SUCCEEDED
    await service.request(urls[:1], prefix="z")
    await until(lambda: has_all(service, 5))
    assert (await snapshot(service))["states"].items() >= backed_up["states"].items()


async def strike(service: Service, query: str) -> bool:
    return bool(await service.rows(query))


async def is_untouched(service: Service, before: dict[str, list[Any]]) -> bool:
    return await dump(service) == before


async def has_all(service: Service, count: int) -> bool:
    found = await snapshot(service)
    return len(found["stored"]) == count == sum(all(held.values()) for _, _, held in found["states"].values())


async def test_the_newest_backups_are_kept_and_files_for_as_long_as_the_oldest(service: Service) -> None:
    async with bucket_of(service) as bucket:
        now = datetime.now(UTC)
        left, begun = name_at(now - timedelta(days=2)), name_at(now)
        path = service.settings.spool_dir / "given-up"
        service.settings.spool_dir.mkdir(exist_ok=True)
        path.write_bytes(b"1")
        for incomplete in (left, begun):
            await bucket.put_file(incomplete, "file", path)
        made = [await make_backup(service, kept=2) for _ in range(3)]
        assert await bucket.list_complete() == made[1:]
        assert left not in await bucket.list_begun()
        assert begun in await bucket.list_begun()
        await MeasureBackups(bucket)()
        assert 0 <= value("backup_age_seconds") < 600
        manifest = await bucket.read_manifest(made[1])
        assert manifest is not None
        for name in made:
            await bucket.remove(name)
        assert await needed_grace_s(bucket) == 86400
        await bucket.put_manifest(replace(manifest, name=name_at(now - timedelta(days=9))))
        assert await needed_grace_s(bucket) > 9 * 86400
        await MeasureBackups(bucket)()
        assert value("backup_age_seconds") >= 9 * 86400
