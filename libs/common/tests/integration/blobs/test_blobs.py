"""Files by their hash, on a real object store: reads are verified, and no clean-up removes a used file."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from classifeed_common.blobs import BlobCorrupt, BlobMissing, BlobRefs, BlobStore
from classifeed_common.blobs.refs import SQL
from classifeed_common.db import Database, ddl
from classifeed_common.errors import Unavailable
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_devkit.testing.stores import make_store, open_store


def made(folder: Path, content: bytes) -> tuple[Path, str]:
    path = folder / uuid.uuid4().hex
    path.write_bytes(content)
    return path, hashlib.sha256(content).hexdigest()


@pytest.fixture
async def store(s3: EmbeddedS3) -> AsyncIterator[BlobStore]:
    async with open_store(s3) as store:
        yield store


@pytest.fixture
async def tables(database: Database) -> Database:
    async with database.transaction() as tx:
        await tx.execute(ddl("blob_refs", 1))
    return database


async def test_processes_that_make_the_bucket_at_once_all_start(s3: EmbeddedS3) -> None:
    for _ in range(5):
        name = f"t-{uuid.uuid4().hex[:12]}"
        stores = [make_store(s3, name) for _ in range(8)]
        opened = await asyncio.gather(*(store.open() for store in stores), return_exceptions=True)
        assert opened == [None] * 8
        for store in stores:
            await store.check()
            await store.close()


async def test_file_comes_back_as_it_was_put(store: BlobStore, tmp_path: Path) -> None:
    content = b"0123456789" * 700_000  # more than one part of a multipart put
    path, sha256 = made(tmp_path, content)
    await store.put_file(path, sha256)
    await store.put_file(path, sha256)
    assert await store.fetch(sha256, tmp_path / "back") == len(content)
    assert (tmp_path / "back").read_bytes() == content
    await store.delete(sha256)
    await store.delete(sha256)
    with pytest.raises(BlobMissing):
        await store.fetch(sha256, tmp_path / "gone")


async def test_other_bytes_under_the_hash_are_refused(store: BlobStore, tmp_path: Path) -> None:
    path, _ = made(tmp_path, b"other bytes")
    _, sha256 = made(tmp_path, b"the bytes")
    await store.put_file(path, sha256)
    target = tmp_path / "back"
    with pytest.raises(BlobCorrupt, match=sha256):
        await store.fetch(sha256, target)
    assert not target.exists()


async def test_part_of_a_file_is_put_again(store: BlobStore, tmp_path: Path) -> None:
    part, _ = made(tmp_path, b"half")
    whole, sha256 = made(tmp_path, b"half and half")
    await store.put_file(part, sha256)
    await store.put_file(whole, sha256)
    assert await store.fetch(sha256, tmp_path / "back") == len(b"half and half")


async def test_store_that_does_not_answer_is_unavailable(tmp_path: Path) -> None:
    store = BlobStore(endpoint="http://127.0.0.1:9", access_key="a", secret_key="b" * 8, bucket="nowhere")
    path, sha256 = made(tmp_path, b"x")
    with pytest.raises(Unavailable) as caught:
        await store.put_file(path, sha256)
    assert caught.value.reason == "OBJECT_STORE_UNAVAILABLE"


async def count_refs(db: Database, sha256: str) -> int | None:
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT ref_count FROM blobs WHERE sha256 = %s", (sha256,))
        row = await cursor.fetchone()
    return row[0] if row else None


async def test_references_are_counted_once_each(tables: Database) -> None:
    refs, sha256 = BlobRefs(), "a" * 64
    async with tables.transaction() as tx:
        await refs.add(tx, sha256, "upload:1")
        await refs.add(tx, sha256, "upload:1")
        await refs.add(tx, sha256, "task:1")
    assert await count_refs(tables, sha256) == 2
    async with tables.transaction() as tx:
        await refs.drop(tx, "upload:1")
        await refs.drop(tx, "upload:1")
    assert await count_refs(tables, sha256) == 1


async def test_sweep_takes_what_nobody_needs_and_not_before_its_time(
    tables: Database, store: BlobStore, tmp_path: Path
) -> None:
    refs = BlobRefs()
    needed, needed_hash = made(tmp_path, b"needed")
    free, free_hash = made(tmp_path, b"free")
    async with tables.transaction() as tx:
        await refs.add(tx, needed_hash, "task:1")
        await refs.add(tx, free_hash, "task:2")
        await refs.drop(tx, "task:2")
    await store.put_file(needed, needed_hash)
    await store.put_file(free, free_hash)
    assert await refs.sweep(tables, store) == 0, "the grace time has not passed"
    assert await refs.sweep(tables, store, grace_s=0) == 1
    assert await store.fetch(needed_hash, tmp_path / "back") == len(b"needed")
    with pytest.raises(BlobMissing):
        await store.fetch(free_hash, tmp_path / "back")


class PausingStore:
    """The real store, whose delete waits, so that a new reference can come in between."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self.at_delete = asyncio.Event()
        self.go_on = asyncio.Event()

    async def delete(self, sha256: str) -> None:
        self.at_delete.set()
        await self.go_on.wait()
        await self._store.delete(sha256)


async def naive_sweep(db: Database, store: PausingStore) -> None:
    """Find a file, forget its row and delete it, each in a separate transaction."""
    async with db.transaction() as tx:
        cursor = await tx.execute(SQL["lock_unreferenced"], {"grace_s": 0})
        row = await cursor.fetchone()
        assert row is not None
        await tx.execute(SQL["delete_blob"], {"sha256": row[0]})
    await store.delete(row[0])


@pytest.mark.parametrize("way", ["ours", "naive"])
async def test_file_referred_to_while_it_is_swept_is_there_in_the_end(
    tables: Database, store: BlobStore, tmp_path: Path, way: str
) -> None:
    refs = BlobRefs()
    path, sha256 = made(tmp_path, b"wanted again")
    async with tables.transaction() as tx:
        await refs.add(tx, sha256, "task:1")
        await refs.drop(tx, "task:1")
    await store.put_file(path, sha256)

    pausing = PausingStore(store)
    sweep = naive_sweep(tables, pausing) if way == "naive" else refs.sweep(tables, pausing, grace_s=0)  # type: ignore[arg-type]
    sweeping = asyncio.create_task(sweep)
    await pausing.at_delete.wait()

    async def refer_then_put() -> None:
        async with tables.transaction() as tx:
            await refs.add(tx, sha256, "task:2")
        await store.put_file(path, sha256)

    wanting = asyncio.create_task(refer_then_put())
    if way == "naive":
        await wanting  # nothing makes it wait: the file still exists, so it is not put again
    pausing.go_on.set()
    await asyncio.gather(sweeping, wanting)
    if way == "naive":
        with pytest.raises(BlobMissing):
            await store.fetch(sha256, tmp_path / "back")
    else:
        assert await store.fetch(sha256, tmp_path / "back") == len(b"wanted again")


async def test_cancelled_sweep_keeps_its_lock_until_the_file_is_gone(
    tables: Database, store: BlobStore, tmp_path: Path
) -> None:
    refs = BlobRefs()
    path, sha256 = made(tmp_path, b"wanted while the service drains")
    async with tables.transaction() as tx:
        await refs.add(tx, sha256, "task:1")
        await refs.drop(tx, "task:1")
    await store.put_file(path, sha256)
    pausing = PausingStore(store)
    sweeping = asyncio.create_task(refs.sweep(tables, pausing, grace_s=0))  # type: ignore[arg-type]
    await pausing.at_delete.wait()
    sweeping.cancel()

    async def refer_then_put() -> None:
        async with tables.transaction() as tx:
            await refs.add(tx, sha256, "task:2")
        await store.put_file(path, sha256)

    wanting = asyncio.create_task(refer_then_put())
    assert await comes_to_wait(wanting, tables)
    pausing.go_on.set()
    await wanting
    with pytest.raises(asyncio.CancelledError):
        await sweeping
    assert await store.fetch(sha256, tmp_path / "back") == path.stat().st_size


async def test_adding_and_dropping_at_once_end_in_the_right_count_without_deadlock(tables: Database) -> None:
    refs, hashes = BlobRefs(), [digit * 64 for digit in "0123456789"]

    async def add(ref: str) -> None:
        for _ in range(10):
            async with tables.transaction() as tx:
                for sha256 in hashes:
                    await refs.add(tx, sha256, ref)
            async with tables.transaction() as tx:
                await refs.drop(tx, ref)

    await asyncio.gather(*(add(ref) for ref in ("a", "a", "b", "c")))
    assert [await count_refs(tables, sha256) for sha256 in hashes] == [0] * 10


async def test_hot_statements_use_indexes(tables: Database) -> None:
    async with tables.connection() as connection:
        await connection.execute(
            "INSERT INTO blobs SELECT md5(n::text) || md5(n::text), (n % 1000)::bool::int, clock_timestamp()"
            " FROM generate_series(1, 50000) n"
        )
        await connection.execute(
            "INSERT INTO blob_refs SELECT 'task:' || sha256, sha256 FROM blobs WHERE ref_count = 1"
        )
        await connection.execute("ANALYZE")
        values = {"grace_s": 0, "refs": ["task:1"], "sha256": "a" * 64, "sha256s": ["a" * 64]}
        hot = ("touch_blobs", "add_refs", "list_refs", "lock_blobs", "remove_refs", "lock_unreferenced", "delete_blob")
        for name in hot:
            plan = await (await connection.execute(f"EXPLAIN {SQL[name]}", values)).fetchall()
            assert not [line for (line,) in plan if "Seq Scan" in line], name
