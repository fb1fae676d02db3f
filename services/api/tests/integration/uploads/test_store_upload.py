"""An acknowledged upload is stored and due; one that was not acknowledged leaves nothing due.

This file is also the process that a test kills: `python <this file> <json>`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import uuid
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from classifeed_api.app.clean_up import api_clean_up
from classifeed_api.app.uploads.store_upload import StoreUpload
from classifeed_api.domain.uploads import NewUpload
from classifeed_api.store import tables
from classifeed_api.store.task_line import SELECT_DUE
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.db.migrations import check_drift
from classifeed_common.errors import InvalidArgument, Unavailable
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.dying_store import DyingStore, run_until_killed

NO_GRACE_S = -5.0


def new_upload(path: Path, *, request_id: str | None = None, namespace: str = "default") -> NewUpload:
    content = path.read_bytes()
    return NewUpload("shop", namespace, 1, 1, path.name, request_id, hashlib.sha256(content).hexdigest(), len(content))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "feed.yml"
    path.write_text("<yml_catalog/>")
    return path


async def due(db: Database) -> list[tuple[Any, ...]]:
    async with db.transaction() as tx:
        cursor = await tx.execute(SELECT_DUE, {"limit": 100})
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


class NoTasks:
    """Fake processor without tasks."""

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        return set()


async def store_and_die(settings: dict[str, str]) -> None:
    """Run the steps of an upload up to the one at which the process is killed."""
    db = Database(settings["dsn"], schema="api", application_name="dying")
    await db.open()
    options = {name: settings[name] for name in ("endpoint", "access_key", "secret_key", "bucket")}
    blobs = DyingStore(is_file_there=bool(settings["is_file_there"]), **options)
    path = Path(settings["path"])
    await StoreUpload(db, blobs, BlobRefs())(new_upload(path, request_id=settings["request_id"]), path)


@pytest.mark.parametrize("is_file_there", [False, True])
async def test_killed_between_reference_and_upload_leaves_no_bytes_and_nothing_due(
    db: Database, s3: EmbeddedS3, bucket: str, blobs: BlobStore, file: Path, tmp_path: Path, is_file_there: bool
) -> None:
    refs, request_id = BlobRefs(), str(uuid.uuid4())
    request = new_upload(file, request_id=request_id)
    settings = {"dsn": db.dsn, "endpoint": s3.endpoint, "access_key": s3.access_key, "secret_key": s3.secret_key}
    settings |= {"bucket": bucket, "path": str(file), "request_id": request_id}
    await run_until_killed(__file__, settings | {"is_file_there": is_file_there})
    # The upload has a reference but perhaps no bytes, so it is not loaded; nothing is swept while its sender may retry.
    assert await due(db) == []
    assert await refs.sweep(db, blobs, grace_s=NO_GRACE_S) == 0
    assert await blobs.list_own() == ([request.sha256] if is_file_there else [])
    # The sender does not retry: the clean-up deletes the upload and its reference, and the sweep deletes the bytes.
    clean_up = api_clean_up(NoTasks(), refs, history_uploads=2, removed_days=45)
    await clean_up.run(db, datetime.now(UTC) + timedelta(days=2))
    await refs.sweep(db, blobs, grace_s=NO_GRACE_S)
    async with db.transaction() as tx:
        cursor = await tx.execute("SELECT sha256 FROM blob_refs UNION ALL SELECT sha256 FROM blobs")
        assert await cursor.fetchall() == []
    assert await blobs.list_own() == []
    # The sender retries after all.
    upload = await StoreUpload(db, blobs, refs)(request, file)
    assert [row[1] for row in await due(db)] == [upload.upload_id]
    assert await blobs.fetch(upload.sha256, tmp_path / "back") == file.stat().st_size


if __name__ == "__main__":
    asyncio.run(store_and_die(json.loads(sys.argv[1])))
