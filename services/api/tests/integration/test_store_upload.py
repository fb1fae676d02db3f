"""What is acknowledged is stored and due; what is not leaves nothing due."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from classifeed_api.app.create_tasks import CreateTasks
from classifeed_api.app.store_upload import StoreUpload
from classifeed_api.domain.uploads import NewUpload, Upload
from classifeed_api.store import tables
from classifeed_api.store.uploads import SQL
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.db.migrations import check_drift
from classifeed_common.embedded.s3 import EmbeddedS3
from classifeed_common.errors import InvalidArgument, Unavailable
from classifeed_common.testing.databases import MigratedDatabase


@pytest.fixture
async def db(migrated_database: MigratedDatabase) -> Database:
    return await migrated_database("classifeed_api")


@pytest.fixture
async def blobs(s3: EmbeddedS3) -> AsyncIterator[BlobStore]:
    store = BlobStore(
        endpoint=s3.endpoint, access_key=s3.access_key, secret_key=s3.secret_key, bucket=f"t-{uuid.uuid4().hex[:12]}"
    )
    await store.open()
    yield store
    await store.close()


def new_upload(path: Path, *, request_id: str | None = None, namespace: str = "default") -> NewUpload:
    content = path.read_bytes()
    return NewUpload("shop", namespace, 1, 1, path.name, request_id, hashlib.sha256(content).hexdigest(), len(content))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "feed.yml"
    path.write_text("<yml_catalog/>")
    return path


async def due(db: Database) -> list[tuple]:
    async with db.transaction() as tx:
        cursor = await tx.execute(SQL["select_due"], {"limit": 100})
        return await cursor.fetchall()


async def test_models_and_migrations_agree(db: Database) -> None:
    assert check_drift("classifeed_api", db.dsn, "api", tables.metadata) == []


async def test_stored_upload_is_due_and_its_file_is_referred_to(
    db: Database, blobs: BlobStore, file: Path, tmp_path: Path
) -> None:
    upload = await StoreUpload(db, blobs, BlobRefs())(new_upload(file), file)
    assert [row[0] for row in await due(db)] == [upload.upload_id]
    assert await blobs.fetch(upload.sha256, tmp_path / "back") == file.stat().st_size
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT ref FROM blob_refs WHERE sha256 = %s", (upload.sha256,))
        assert await cursor.fetchall() == [(f"upload:{upload.upload_id}",)]


async def test_nothing_is_due_while_the_file_is_not_stored(db: Database, file: Path) -> None:
    away = BlobStore(endpoint="http://127.0.0.1:9", access_key="a", secret_key="b" * 8, bucket="nowhere")
    with pytest.raises(Unavailable):
        await StoreUpload(db, away, BlobRefs())(new_upload(file), file)
    assert await due(db) == []


async def test_same_request_is_the_same_upload(db: Database, blobs: BlobStore, file: Path, tmp_path: Path) -> None:
    store, request_id = StoreUpload(db, blobs, BlobRefs()), str(uuid.uuid4())
    first = await store(new_upload(file, request_id=request_id), file)
    again = await store(new_upload(file, request_id=request_id), file)
    assert again == first
    assert len(await due(db)) == 1
    other = tmp_path / "other.yml"
    other.write_text("<yml_catalog></yml_catalog>")
    with pytest.raises(InvalidArgument) as caught:
        await store(new_upload(other, request_id=request_id), other)
    assert caught.value.violations[0].field == "spec.request_id"


async def test_request_that_failed_before_its_file_was_stored_can_be_sent_again(
    db: Database, blobs: BlobStore, file: Path
) -> None:
    request = new_upload(file, request_id=str(uuid.uuid4()))
    away = BlobStore(endpoint="http://127.0.0.1:9", access_key="a", secret_key="b" * 8, bucket="nowhere")
    with pytest.raises(Unavailable):
        await StoreUpload(db, away, BlobRefs())(request, file)
    upload = await StoreUpload(db, blobs, BlobRefs())(request, file)
    assert [row[0] for row in await due(db)] == [upload.upload_id]


class Processor:
    """Another service: knows uploads by their id, and fails when told to."""

    def __init__(self) -> None:
        self.tasks: dict[uuid.UUID, int] = {}
        self.refuse: set[str] = set()
        self.asked: list[uuid.UUID] = []

    async def create_task(self, upload: Upload) -> int:
        self.asked.append(upload.upload_id)
        if upload.namespace in self.refuse:
            raise ConnectionError("away")
        return self.tasks.setdefault(upload.upload_id, len(self.tasks) + 1)


async def test_tasks_are_made_in_order_and_one_failure_holds_up_its_namespace_alone(
    db: Database, blobs: BlobStore, file: Path
) -> None:
    store, processor = StoreUpload(db, blobs, BlobRefs()), Processor()
    stuck = [await store(new_upload(file, namespace="stuck"), file) for _ in range(2)]
    free = [await store(new_upload(file, namespace="free"), file) for _ in range(3)]
    processor.refuse.add("stuck")
    create = CreateTasks(db, processor)
    rows = await due(db)
    done = dict(zip((row[0] for row in rows), await create(rows), strict=True))
    assert [done[upload.upload_id] for upload in (*stuck, *free)] == [False, False, True, True, True]
    assert [asked for asked in processor.asked if asked in {each.upload_id for each in free}] == [
        each.upload_id for each in free
    ]
    assert processor.asked.count(stuck[1].upload_id) == 0, "the second one waits for the first"
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT task_id FROM uploads WHERE upload_id = %s", (free[0].upload_id,))
        assert (await cursor.fetchone()) == (processor.tasks[free[0].upload_id],)


async def test_due_uploads_are_found_by_their_index(db: Database) -> None:
    async with await psycopg.AsyncConnection.connect(db.dsn, options="-c search_path=api") as connection:
        await connection.execute(
            "INSERT INTO uploads SELECT gen_random_uuid(), 's', 'n', NULL, 1, 1, 'f', repeat('a', 64), 1, NULL, true, "
            "1, CASE WHEN i % 1000 = 0 THEN 0 ELSE 1 END, clock_timestamp() FROM generate_series(1, 20000) i"
        )
        await connection.execute("ANALYZE uploads")
        cursor = await connection.execute("EXPLAIN " + SQL["select_due"], {"limit": 100})
        plan = "\n".join(row[0] for row in await cursor.fetchall())
    assert "uploads_due" in plan
    assert "Seq Scan" not in plan
