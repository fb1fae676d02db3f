"""Several services in one bucket: each deletes its own files only."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psycopg
import pytest

from classifeed_common.blobs import BlobMissing, BlobRefs, BlobStore, BlobSweeper
from classifeed_common.db import Database, ddl
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.stores import make_store

MakeStore = Callable[[str], BlobStore]
NO_GRACE_S = -5.0


@pytest.fixture
async def store_of(s3: EmbeddedS3) -> AsyncIterator[MakeStore]:
    bucket = f"t-{uuid.uuid4().hex[:12]}"
    made: list[BlobStore] = []

    def make(owner: str) -> BlobStore:
        made.append(make_store(s3, bucket, owner))
        return made[-1]

    await make("").open()
    yield make
    for store in made:
        await store.close()


@pytest.fixture
async def db(database: Database) -> Database:
    async with database.transaction() as tx:
        await tx.execute(ddl("blob_refs", 1))
    return database


@pytest.fixture
async def other_db(database_dsn: str, db: Database) -> AsyncIterator[Database]:
    """Yield the tables of another service."""
    with psycopg.connect(database_dsn, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA other")
    other = Database(database_dsn, schema="other", application_name="test")
    await other.open()
    async with other.transaction() as tx:
        await tx.execute(ddl("blob_refs", 1))
    yield other
    await other.close()


async def refer(db: Database, sha256: str, ref: str) -> None:
    async with db.transaction() as tx:
        await BlobRefs().add(tx, sha256, ref)


async def release(db: Database, ref: str) -> None:
    async with db.transaction() as tx:
        await BlobRefs().drop(tx, ref)


async def has(store: BlobStore, sha256: str, folder: Path) -> bool:
    try:
        await store.fetch(sha256, folder / "back")
    except BlobMissing:
        return False
    return True


@pytest.fixture
def file(tmp_path: Path) -> tuple[Path, str]:
    content = uuid.uuid4().bytes * 1000
    path = tmp_path / "file"
    path.write_bytes(content)
    return path, hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("owners", "survives"),
    [(("api", "loader"), True), pytest.param(("", ""), False, id="naive: one key for both")],
)
async def test_a_sweep_of_one_service_leaves_what_another_refers_to(
    store_of: MakeStore,
    db: Database,
    other_db: Database,
    file: tuple[Path, str],
    tmp_path: Path,
    owners: tuple[str, str],
    survives: bool,
) -> None:
    path, sha256 = file
    ours, theirs = (store_of(owner) for owner in owners)
    await asyncio.gather(refer(db, sha256, "upload:1"), refer(other_db, sha256, "fetch:1"))
    await asyncio.gather(ours.put_file(path, sha256), theirs.put_file(path, sha256))
    await release(db, "upload:1")
    assert await BlobRefs().sweep(db, ours, grace_s=NO_GRACE_S) == 1
    assert await has(theirs, sha256, tmp_path) is survives
    assert await BlobRefs().sweep(other_db, theirs, grace_s=NO_GRACE_S) == 0


async def test_a_kept_file_outlives_the_one_that_it_was_copied_from(
    store_of: MakeStore, file: tuple[Path, str], tmp_path: Path
) -> None:
    path, sha256 = file
    api, processor = store_of("api"), store_of("processor")
    await api.put_file(path, sha256)
    assert await processor.list_own() == []
    await asyncio.gather(processor.keep(sha256), processor.keep(sha256))
    await api.delete(sha256)
    assert await processor.list_own() == [sha256]
    assert await processor.fetch(sha256, tmp_path / "back") == path.stat().st_size
    await processor.keep(sha256)
    await processor.delete(sha256)
    with pytest.raises(BlobMissing):
        await processor.keep(sha256)


async def test_files_from_before_owners_are_read_and_kept_and_deleted_by_nobody(
    store_of: MakeStore, db: Database, file: tuple[Path, str], tmp_path: Path
) -> None:
    path, sha256 = file
    await store_of("").put_file(path, sha256)
    api, processor = store_of("api"), store_of("processor")
    await refer(db, sha256, "upload:1")  # by earlier code
    assert await has(api, sha256, tmp_path)
    await release(db, "upload:1")
    assert await BlobRefs().sweep(db, api, grace_s=NO_GRACE_S) == 1
    assert await has(processor, sha256, tmp_path)
    await processor.keep(sha256)
    assert await processor.list_own() == [sha256]


async def test_files_that_a_restored_database_does_not_know_have_the_whole_grace_time(
    store_of: MakeStore, db: Database, file: tuple[Path, str], tmp_path: Path
) -> None:
    path, sha256 = file
    store = store_of("processor")
    await refer(db, sha256, "task:1")
    await store.put_file(path, sha256)
    async with db.transaction() as tx:
        await tx.execute("TRUNCATE blobs, blob_refs")  # the backup is older than the file
    assert await BlobRefs().sweep(db, store, grace_s=NO_GRACE_S) == 0
    assert await BlobRefs().audit(db, store) == 1
    assert await BlobRefs().audit(db, store) == 0
    assert await BlobRefs().sweep(db, store, grace_s=3600) == 0
    await refer(db, sha256, "task:2")  # the task is created again
    assert await BlobRefs().sweep(db, store, grace_s=NO_GRACE_S) == 0
    assert await has(store, sha256, tmp_path)
    await release(db, "task:2")
    assert await BlobRefs().sweep(db, store, grace_s=NO_GRACE_S) == 1
    assert not await has(store, sha256, tmp_path)


async def test_the_sweeper_finds_and_deletes_by_itself_and_goes_on_after_faults(
    store_of: MakeStore, db: Database, file: tuple[Path, str], tmp_path: Path
) -> None:
    path, sha256 = file
    store = store_of("api")
    await store.put_file(path, sha256)
    (tmp_path / "needed").write_bytes(b"needed")
    needed = hashlib.sha256(b"needed").hexdigest()
    await refer(db, needed, "upload:2")
    await store.put_file(tmp_path / "needed", needed)
    sweeps = 0
    real = store.list_own

    async def failing_once() -> list[str]:
        nonlocal sweeps
        sweeps += 1
        if sweeps == 1:
            raise OSError("the object store is away")
        return await real()

    store.list_own = failing_once  # type: ignore[method-assign]
    stop = asyncio.Event()
    running = asyncio.create_task(BlobSweeper(db, store, grace_s=NO_GRACE_S, sweep_every_s=0.05).run(stop))
    async with asyncio.timeout(60):
        while await real() != [needed]:
            await asyncio.sleep(0.05)
    stop.set()
    await running
