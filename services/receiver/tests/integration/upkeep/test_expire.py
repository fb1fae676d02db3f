from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from classifeed_receiver.app.upkeep.expire_documents import DocumentExpirer
from classifeed_receiver.domain.cursors import ShardKey
from classifeed_receiver.domain.documents import Acknowledged, Stale, Status

from ...conftest import Build, Receiver

PAST = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def expirer(receiver: Receiver) -> DocumentExpirer:
    return DocumentExpirer(receiver.database, documents=3, tombstone_age_s=60)


async def read_last(receiver: Receiver) -> list[Any]:
    cursors = {ShardKey(1, shard): 0 for shard in range(64)}
    result = await receiver.read_elements("offers", cursors, limit=100, wait_s=0)
    return [element.document for element in result.elements]


async def test_expired_document_is_deleted_through_the_queue(
    receiver: Receiver, build: Build, expirer: DocumentExpirer
) -> None:
    old, young = build.upsert("old", 3, at=PAST, ttl_s=10), build.upsert("young", 1, at=datetime.now(UTC), ttl_s=600)
    await receiver.push(old, young, build.upsert("for ever", at=PAST))
    assert await expirer.backlog() == {"expired": 1}
    assert await expirer.expire_once() is False
    assert await expirer.backlog() == {"expired": 0}
    # The elements of the upsert and of the expiry both refer to the tombstone now: the second one repeats it.
    gone = build.delete("old", 3, at=PAST)
    assert [document for document in await read_last(receiver) if document.pk == "old"] == [gone, gone]
    assert await receiver.fetch("SELECT count(*) FROM elements WHERE pk = 'old'") == [(2,)]


async def test_expired_document_neither_rises_nor_blocks_its_key(
    receiver: Receiver, build: Build, expirer: DocumentExpirer
) -> None:
    await receiver.push(build.upsert("a", 3, at=PAST, ttl_s=10))
    await expirer.expire_once()
    assert await receiver.push(build.upsert("a", 2, at=PAST)) == [Stale()]
    assert await receiver.push(build.upsert("a", 3, at=PAST, ttl_s=10)) == [Acknowledged()]  # a late retry
    assert await receiver.fetch("SELECT status FROM documents") == [(Status.TOMBSTONE,)]
    [outcome] = await receiver.push(build.upsert("a", 4, at=PAST))
    assert isinstance(outcome, Acknowledged)
    assert await receiver.fetch("SELECT status, expires_at FROM documents") == [(Status.LIVE, None)]


async def test_renewed_document_does_not_expire(receiver: Receiver, build: Build, expirer: DocumentExpirer) -> None:
    await receiver.push(build.upsert("a", 1, at=PAST, ttl_s=10))
    await receiver.push(build.upsert("a", 2, at=datetime.now(UTC), ttl_s=600))
    await expirer.expire_once()
    assert await receiver.fetch("SELECT status FROM documents") == [(Status.LIVE,)]


async def test_small_batches_until_nothing_is_due(receiver: Receiver, build: Build, expirer: DocumentExpirer) -> None:
    await receiver.push(*[build.upsert(f"k{number}", at=PAST, ttl_s=number + 1) for number in range(7)])
    assert [await expirer.expire_once() for _ in range(3)] == [True, True, False]
    assert await receiver.fetch("SELECT count(*) FROM documents WHERE status = 2") == [(7,)]


async def test_tombstone_is_forgotten_after_its_time_only(
    receiver: Receiver, build: Build, expirer: DocumentExpirer
) -> None:
    await receiver.push(build.delete("old", 1), build.delete("young", 1))
    age = timedelta(seconds=61)
    await receiver.fetch("UPDATE documents SET stored_at = clock_timestamp() - %s WHERE pk = 'old' RETURNING 1", age)
    await expirer.expire_once()
    assert await receiver.fetch("SELECT pk FROM documents") == [("young",)]
