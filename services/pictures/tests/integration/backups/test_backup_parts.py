"""Parts of backups and restores: positions of groups, rows that no event recreates, and concurrent changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast
from unittest.mock import AsyncMock

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed.pictures.v1.requests_pb2 import PictureNotices
from classifeed_common.blobs import BlobStore
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database
from classifeed_common.errors import Aborted
from classifeed_common.kafka import Cluster, KafkaProducer, Message
from classifeed_common.outbox import Outbox
from classifeed_devkit.embedded.kafka import EmbeddedKafka
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.stores import make_store
from classifeed_devkit.testing.topics import MakeTopic
from classifeed_imaging.model import Decoded
from classifeed_pictures.app.backups.make_backup import MakeBackup
from classifeed_pictures.app.backups.place_groups import place_groups
from classifeed_pictures.app.backups.restore_backup import RestoreBackup
from classifeed_pictures.app.files.put_picture import PutPicture
from classifeed_pictures.app.files.store_picture import StorePicture
from classifeed_pictures.domain.backups import Stand
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.urls.canonical import CanonicalRules
from classifeed_pictures.store.backups.backups import empty, set_stands
from classifeed_pictures.store.events.event_gaps import open_gap

from ..backup_runs import STATE, Run, bucket_at
from ..histories import Processor, hash_of, info, loaded, request

RULES = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": []})
ADDRESS = f"{info(1).group_id}, '{info(1).name}', '\\x{hash_of(1).hex()}'"
CHANGES = f"""
WITH stored AS (
    INSERT INTO stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes,
                                 info, pieces, is_alias)
    VALUES ('offers', {ADDRESS}, 1, sha256('1'), 5, 5, '', '[]', false),
           ('offers', 1, 'alias', '\\x{hash_of(1).hex()}', 1, sha256('1'), 5, 5, '', '[]', true),
           ('offers', 1, 'left', '\\x{hash_of(9).hex()}', 1, sha256('3'), 5, 5, '', '[]', true),
           ('offers', 1, 'unheld', '\\x{hash_of(1).hex()}', 1, sha256('2'), 5, 5, '', '[]', false)
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
    """Unsent results, namespaces, processed files; of stored pictures, those that a state holds."""
    database = await migrated_database("classifeed_pictures")
    processor = Processor(database)
    await processor.process({1: [request("settled")], 2: [request("waits")], 3: [request("damaged")]})
    await processor.orders()
    await processor.process({1: [loaded(info(1), await processor.attempt(1))]})
    topic = await make_topic()
    await processor.rows(CHANGES, topic)
    await processor.rows("UPDATE pictures SET holdings = '\\xffff' WHERE url_hash = %s RETURNING 1", hash_of(3))
    blobs = make_store(s3)
    await blobs.open()
    async with bucket_at(s3, blobs) as bucket:
        [_ async for _ in MakeBackup(database, bucket, str, tmp_path, 1)()]
        [name] = await bucket.list_complete()
        async with database.transaction() as tx:
            await tx.execute(f"TRUNCATE {', '.join(STATE)}")
            await tx.execute(
                "INSERT INTO namespaces (name, sizes, formats, quota_bytes) VALUES ('shops', '[]', '[]', 9)"
            )
        restore = RestoreBackup(
            bucket,
            blobs,
            Cluster(kafka.bootstrap, client_id="test"),
            Outbox(),
            str,
            tmp_path,
            replayed=("pictures", topic),
            on_events_lost=open_gap,
        )
        *_, progress = [step async for step in restore(Run(database), name)]  # type: ignore[arg-type]
    await blobs.close()
    assert [result.reference for result in await processor.results()] == ["settled"]
    assert sorted(await processor.rows("SELECT reference FROM requests_in_flight")) == [("damaged",), ("waits",)]
    assert (progress.processed, progress.detail["damaged_states"]) == (2, 1)
    assert await processor.rows("SELECT url_hash FROM pictures ORDER BY 1") == [(hash_of(1),), (hash_of(2),)]
    assert sorted(await processor.rows("SELECT name, quota_bytes FROM namespaces")) == [("offers", 7), ("shops", 9)]
    assert await processor.rows("SELECT name FROM event_files") == [("taken",)]
    assert await processor.rows("SELECT reference FROM settled_requests") == [("settled",)]
    stored = await processor.rows("SELECT name, url_hash FROM stored_pictures ORDER BY is_alias")
    assert stored == [(info(1).name, hash_of(1)), ("alias", hash_of(1))]
    assert await processor.rows("SELECT sum(pictures)::int, sum(bytes)::int FROM namespace_usage") == [(1, 5)]
    assert await processor.rows("SELECT count(*) FROM blob_refs") == [(2,)]
    assert await processor.rows("SELECT next FROM consumer_offsets") == [(0,)]
    # Its topic was created again, so its later events are unknown.
    causes = [
        cause for (cause,) in await processor.rows("SELECT cause FROM event_gaps WHERE cause LIKE 'the backup%%'")
    ]
    assert all(name in cause for cause in causes)
    assert sorted("damaged" in cause for cause in causes) == [False, True]
    # Its file is not in the bucket.
    [notices] = await processor.take(PictureNotices)
    assert [(notice.url, notice.look_again.refresh) for notice in notices.notices] == [("key-1", True)]
    # Its topic has no events since the backup, so a request may have cleared the mark.
    assert await processor.rows("SELECT 1 FROM pictures WHERE delete_mark_at IS NOT NULL") == []


async def test_a_put_that_a_restore_comes_between_is_refused(
    migrated_database: Callable[[str], Awaitable[Database]],
) -> None:
    """Otherwise its state would hold a picture that is not stored."""
    database = await migrated_database("classifeed_pictures")
    store = StorePicture(database, cast(BlobStore, AsyncMock(BlobStore)), SystemClock())

    async def store_and_restore(*args: Any, **options: Any) -> PictureInfo:
        stored = await store(*args, **options)
        async with database.transaction() as tx:
            await empty(tx)
        return stored

    decoder = AsyncMock()
    decoder.decode.return_value = Decoded("jpeg", 1, 1, 1, b"1", (), b"12345678", 0, "")
    put = PutPicture(
        database,
        Outbox(),
        decoder,
        cast(StorePicture, store_and_restore),
        canonical_rules=lambda: CanonicalRules.of(
            {"strip_fragment": True, "strip_www": False, "tracking_parameters": []}
        ),
        rules=LifecycleRules(),
    )
    with pytest.raises(Aborted, match="Send it again"):
        await put("key", "shops", b"1")
    async with database.transaction() as tx:
        assert await (await tx.execute("SELECT 1 FROM pictures")).fetchall() == []
