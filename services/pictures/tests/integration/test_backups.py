"""Backups of the state with real PostgreSQL, Kafka and S3: made while events flow, restored, and equal afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from classifeed.jobs.v1.job_pb2 import JOB_STATUS_FAILED, JOB_STATUS_SUCCEEDED
from classifeed.jobs.v1.job_service_pb2 import PauseQueueRequest, ResumeQueueRequest
from classifeed.pictures.v1.picture_service_pb2 import (
    DeletePicturesRequest,
    ListBackupsRequest,
    PutPictureRequest,
    RestoreBackupRequest,
)
from classifeed.pictures.v1.requests_pb2 import PictureNotices
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.embedded.kafka import EmbeddedKafka
from classifeed_common.embedded.s3 import EmbeddedS3
from classifeed_common.kafka import Cluster, KafkaProducer, Message
from classifeed_common.outbox import Outbox
from classifeed_common.testing.recovery import until
from classifeed_common.testing.topics import MakeTopic
from classifeed_pictures.app.make_backup import BackupMaker
from classifeed_pictures.app.measure_backups import BackupMeter, needed_grace_s
from classifeed_pictures.app.place_groups import place_groups
from classifeed_pictures.app.restore_backup import BackupRestorer
from classifeed_pictures.domain.backups import Stand, name_at
from classifeed_pictures.jobs.backup import RESTORE
from classifeed_pictures.store.backups import set_stands

from .backups import STATE, Run, bucket_at, bucket_of, change_file, destroy, dump, ended, make_backup, restore, snapshot
from .conftest import Service
from .histories import Processor, hash_of, info, loaded, request
from .picture_host import PictureHost, jpeg
from .samples import value

_WAITS = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO \"namespaces\"%%'"
IS_UNDER_WAY = f"SELECT 1 {_WAITS}"
STRIKE = f"SELECT pg_terminate_backend(pid) {_WAITS}"
ADDRESS = f"{info(1).group_id}, '{info(1).name}', '\\x{hash_of(1).hex()}'"
CHANGES = f"""
WITH stored AS (
    INSERT INTO stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes,
                                 info, pieces)
    VALUES ('offers', {ADDRESS}, 1, sha256('1'), 5, 5, '', '[]'),
           ('offers', 1, 'unheld', '\\x{hash_of(1).hex()}', 1, sha256('2'), 5, 5, '', '[]')
), files AS (
    INSERT INTO event_files (name, etag, size_bytes, put_at, state, ended_at)
    VALUES ('taken', 'e', 1, now(), 'DONE', now()), ('waits', 'e', 1, now(), 'WAITING', NULL)
), marks AS (
    UPDATE pictures SET delete_mark_at = now()
), stands AS (
    INSERT INTO consumer_offsets ("group", topic, partition, topic_id, next)
    VALUES ('pictures', %s, 0, 'made again since', 5)
)
UPDATE namespaces SET quota_bytes = 7 RETURNING 1
"""
NAMESPACE = "INSERT INTO namespaces (name, sizes, formats, quota_bytes) VALUES ('shops', '[]', '[]', 9)"


@pytest.fixture
def options() -> dict[str, Any]:
    return {"backup_s": 10**9}  # no backup but those of the tests


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
            and len(found["stored"]) == 14 + 3 + 1
            and await service.rows("SELECT 1 FROM outbox") == []
        )

    await until(is_quiet)
    undisturbed = await snapshot(service)
    await destroy(service)
    assert (await restore(service, name)).status == JOB_STATUS_SUCCEEDED
    # What comes now is behind all that is applied again.
    await service.request([urls[3]], prefix="z")

    async def is_equal() -> bool:
        return await snapshot(service) == undisturbed

    try:
        await until(is_equal, within_s=30)
    except AssertionError:
        assert await snapshot(service) == undisturbed
        raise
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
    await until(lambda: is_sent(service))
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


async def test_a_restore_that_is_struck_is_done_again_as_a_whole(service: Service, host: PictureHost) -> None:
    """Struck after the rows were put in place, before the positions were."""
    urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(4)]
    await service.request(urls)
    await service.results(4)
    await until(lambda: is_sent(service))
    backed_up = await snapshot(service)
    name = await make_backup(service)
    await service.request([host.put("/later.jpg", jpeg(7))])
    await service.results(1)
    await until(lambda: is_sent(service))
    before = await dump(service)
    async with service.database.transaction() as tx:
        await tx.execute("LOCK TABLE namespaces IN SHARE MODE")
        response = await service.pictures.RestoreBackup(RestoreBackupRequest(name=name))
        await until(lambda: strike(service, IS_UNDER_WAY))
        await service.jobs.PauseQueue(PauseQueueRequest(queue=RESTORE))  # so that it waits with its next attempt
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
        await BackupMeter(bucket)()
        assert 0 <= value("backup_age_seconds") < 600
        manifest = await bucket.read_manifest(made[1])
        assert manifest is not None
        for name in made:
            await bucket.remove(name)
        assert await needed_grace_s(bucket) == 86400
        await bucket.put_manifest(replace(manifest, name=name_at(now - timedelta(days=9))))
        assert await needed_grace_s(bucket) > 9 * 86400
        await BackupMeter(bucket)()
        assert value("backup_age_seconds") >= 9 * 86400


async def test_groups_go_on_where_the_backup_stood_or_where_the_log_begins(
    kafka: EmbeddedKafka, make_topic: MakeTopic
) -> None:
    events, orders = await make_topic("events", partitions=3), await make_topic("orders", partitions=1)
    producer = KafkaProducer(kafka.bootstrap, client_id="test")
    await producer.start()
    await producer.send([Message(events, b"k", b"v", partition=0) for _ in range(5)])
    await producer.close()
    cluster = Cluster(kafka.bootstrap, client_id="test")
    topic_id = (await cluster.topics([events]))[events].topic_id
    saved = [
        Stand("g", events, 0, topic_id, 4),
        Stand("g", events, 1, topic_id, 0),
        Stand("others", orders, 0, "another", 9),
    ]
    places = await place_groups(cluster, saved, replayed=("g", events))
    assert [(stand.partition, stand.next) for stand in places.exact] == [(0, 4), (1, 0), (2, 0)]
    assert [(stand.group, stand.next) for stand in places.least] == [("others", 0)]
    assert (places.lost, places.is_whole) == (0, True)

    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    [removed] = admin.delete_records([TopicPartition(events, 0, 5)]).values()
    await asyncio.to_thread(removed.result)
    saved[0] = Stand("g", events, 0, topic_id, 2)
    places = await place_groups(cluster, saved, replayed=("g", events))
    assert [(stand.partition, stand.next) for stand in places.exact] == [(0, 5), (1, 0), (2, 0)]
    assert (places.lost, places.is_whole) == (3, False)
    saved[0] = Stand("g", events, 0, "made again", 2)
    assert not (await place_groups(cluster, saved, replayed=("g", events))).is_whole


async def test_positions_are_set_back_for_one_group_and_only_raised_for_others(
    migrated_database: Callable[[str], Awaitable[Database]],
) -> None:
    database = await migrated_database("classifeed_pictures")
    async with database.transaction() as tx:
        now = [Stand("back", "t", 0, "id", 9), Stand("done", "t", 0, "id", 9), Stand("lost", "t", 0, "id", 2)]
        await set_stands(tx, now, [])
        await set_stands(tx, [now[0]._replace(next=4)], [stand._replace(next=5) for stand in now[1:]])
        await set_stands(tx, [], [Stand("gone", "t", 0, "id", 6)])
        rows = await (await tx.execute('SELECT "group", next FROM consumer_offsets')).fetchall()
    assert dict(rows) == {"back": 4, "done": 9, "lost": 5, "gone": 6}


async def test_what_no_event_brings_again_is_in_the_backup(
    migrated_database: Callable[[str], Awaitable[Database]],
    kafka: EmbeddedKafka,
    s3: EmbeddedS3,
    make_topic: MakeTopic,
    tmp_path: Path,
) -> None:
    """Results that are not sent, namespaces, files that were taken; of stored pictures those that a state holds."""
    database = await migrated_database("classifeed_pictures")
    processor = Processor(database)
    await processor.process({1: [request("settled")], 2: [request("waits")]})
    await processor.orders()
    await processor.process({1: [loaded(info(1), await processor.attempt(1))]})
    topic = await make_topic()
    await processor.rows(CHANGES, topic)
    blobs = BlobStore(
        endpoint=s3.endpoint, access_key=s3.access_key, secret_key=s3.secret_key, bucket=f"b-{uuid4().hex[:12]}"
    )
    await blobs.open()
    async with bucket_at(s3, blobs) as bucket:
        [_ async for _ in BackupMaker(database, bucket, str, tmp_path, 1)()]
        [name] = await bucket.list_complete()
        async with database.transaction() as tx:
            await tx.execute(f"TRUNCATE {', '.join(STATE)}")
            await tx.execute(
                "INSERT INTO namespaces (name, sizes, formats, quota_bytes) VALUES ('shops', '[]', '[]', 9)"
            )
        restore = BackupRestorer(
            bucket,
            blobs,
            Cluster(kafka.bootstrap, client_id="test"),
            Outbox(),
            str,
            tmp_path,
            replayed=("pictures", topic),
        )
        [_ async for _ in restore(Run(database), name)]  # type: ignore[arg-type]
    await blobs.close()
    assert [result.reference for result in await processor.results()] == ["settled"]
    assert await processor.rows("SELECT reference FROM requests_in_flight") == [("waits",)]
    assert sorted(await processor.rows("SELECT name, quota_bytes FROM namespaces")) == [("offers", 7), ("shops", 9)]
    assert await processor.rows("SELECT name FROM event_files") == [("taken",)]
    assert await processor.rows("SELECT url_hash FROM stored_pictures") == [(hash_of(1),)]
    assert await processor.rows("SELECT sum(pictures)::int, sum(bytes)::int FROM namespace_usage") == [(1, 5)]
    assert await processor.rows("SELECT count(*) FROM blob_refs") == [(1,)]
    assert await processor.rows("SELECT next FROM consumer_offsets") == [(0,)]
    # Its file is not in the bucket.
    [notices] = await processor.take(PictureNotices)
    assert [(notice.url, notice.look_again.refresh) for notice in notices.notices] == [("key-1", True)]
    # Its topic has nothing since the backup: nobody knows whether a request has cleared the mark.
    assert await processor.rows("SELECT 1 FROM pictures WHERE delete_mark_at IS NOT NULL") == []
