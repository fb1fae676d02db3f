"""Stored pictures that no state holds are removed, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from classifeed_common.blobs import BlobRefs
from classifeed_common.db import Database
from classifeed_pictures.app.files.check_stored import check_stored
from classifeed_pictures.app.files.store_picture import record_stored
from classifeed_pictures.domain.lifecycle.events import Deletion
from classifeed_pictures.domain.namespaces import Namespace, Piece, SizeRule
from classifeed_pictures.store.files.namespaces import get_used_bytes, put_namespace
from classifeed_pictures.store.files.stored import StoredPicture

from ..histories import Processor, hash_of, hours_ago, info, loaded, request
from ..samples import growth

OFFERS = Namespace("offers", (SizeRule("card", 320, 320, crop=False),), ("jpeg",))


@pytest.fixture
async def processor(migrated_database: Callable[..., Any]) -> Processor:
    database = await migrated_database("classifeed_pictures")
    async with database.transaction() as tx:
        await put_namespace(tx, OFFERS)
    return Processor(database)


async def _store(database: Database, number: int, content: bytes, attempt: int, *, hours: float = 25) -> None:
    """Store a picture with its references, like a download, a number of hours ago."""
    known = info(number, content=content)
    known.size_bytes = 10
    blob = content.hex() * 64
    piece = Piece(OFFERS.sizes[0], "jpeg", 320, 240, blob[:64], 0, 5, "")
    async with database.transaction() as tx:
        await record_stored(tx, BlobRefs(), StoredPicture(known, hash_of(number), attempt, blob[:64], (piece,)), OFFERS)
        await tx.execute("UPDATE stored_pictures SET stored_at = %s WHERE name = %s", (hours_ago(hours), known.name))


async def _check(database: Database, *, limit: int = 2) -> None:
    cursor: Any = None
    while True:
        async with database.transaction() as tx:
            part = await check_stored(tx, cursor, limit=limit)
        if part.next is None:
            return
        cursor = part.next


async def _stored(processor: Processor) -> set[str]:
    return {name for (name,) in await processor.rows("SELECT name FROM stored_pictures")}


def _name(number: int, content: bytes) -> str:
    return info(number, content=content).name


async def test_orphans_go_and_held_and_young_ones_stay(processor: Processor) -> None:
    database = processor.database
    for number in range(1, 6):
        await processor.store(number)
        attempt = await processor.attempt(number)
        await _store(database, number, b"1", attempt)
        await _store(database, number, b"2", attempt - 1, hours=25 if number < 5 else 23)
    removed = growth("orphans_total")
    await _check(database)
    assert removed() == 4
    expected = {_name(number, b"1") for number in range(1, 6)} | {_name(5, b"2")}
    assert await _stored(processor) == expected
    references = {ref.rsplit("/", 1)[1] for (ref,) in await processor.rows("SELECT ref FROM blob_refs")}
    assert references == expected
    async with database.transaction() as tx:
        assert await get_used_bytes(tx, "offers") == 15 * 6
    await _check(database)
    assert await _stored(processor) == expected


async def test_what_was_stored_again_is_young(processor: Processor) -> None:
    await _store(processor.database, 1, b"1", 1)
    known = info(1, content=b"1")
    async with processor.database.transaction() as tx:
        await record_stored(tx, BlobRefs(), StoredPicture(known, hash_of(1), 2, "00" * 32, ()), OFFERS)
    await _check(processor.database)
    assert await _stored(processor) == {known.name}


async def test_what_a_result_may_be_about_stays_until_it_is_there(processor: Processor) -> None:
    await processor.process({1: [request()]})
    attempt = await processor.attempt(1)
    await _store(processor.database, 1, b"1", attempt, hours=50)
    await _check(processor.database)
    assert await _stored(processor) == {_name(1, b"1")}
    await processor.process({1: [loaded(info(1, content=b"2"), attempt)]})
    await _check(processor.database)
    assert await _stored(processor) == set()


async def test_addresses_of_older_keys_go_with_the_last_picture_of_their_key(processor: Processor) -> None:
    await _store(processor.database, 1, b"1", 1)
    await _store(processor.database, 1, b"2", 1)
    await processor.rows("UPDATE stored_pictures SET is_alias = true WHERE name = %s RETURNING 1", _name(1, b"2"))
    await _check(processor.database)
    assert await _stored(processor) == set()
    assert await processor.rows("SELECT ref FROM blob_refs") == []


async def test_what_is_left_of_a_deleted_state_goes(processor: Processor) -> None:
    await processor.store(1)
    await _store(processor.database, 1, b"2", await processor.attempt(1))
    await processor.process({1: [Deletion("", hours_ago(-0.001))]})
    await _check(processor.database)
    assert await _stored(processor) == set()
