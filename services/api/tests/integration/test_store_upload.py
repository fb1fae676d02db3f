"""What is acknowledged is stored and due; what is not leaves nothing due."""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path

import pytest

from classifeed_api.app.store_upload import StoreUpload
from classifeed_api.domain.uploads import NewUpload
from classifeed_api.store import tables
from classifeed_api.store.task_line import SQL
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.db.migrations import check_drift
from classifeed_common.errors import InvalidArgument, Unavailable


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
    assert [row[1] for row in await due(db)] == [upload.upload_id]
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
    assert [row[1] for row in await due(db)] == [upload.upload_id]
