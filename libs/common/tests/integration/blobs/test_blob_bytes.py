"""Bytes and pieces of stored files are verified; a bucket of a single service is not shared."""

from __future__ import annotations

import hashlib
import io
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from minio import Minio

from classifeed_common.blobs import BlobCorrupt, BlobMissing, BlobPiece, BlobStore
from classifeed_common.errors import Unavailable
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_common.settings import ServiceSettings
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.stores import make_store, open_store
from classifeed_devkit.testing.tcp_proxy import MakeProxy

CONTENT = os.urandom(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
PIECE = BlobPiece.of(CONTENT[100_000:150_000], 100_000)
LAST = BlobPiece.of(CONTENT[200_000:], 200_000)


@pytest.fixture
def bucket() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


@pytest.fixture
async def store(s3: EmbeddedS3, bucket: str) -> AsyncIterator[BlobStore]:
    async with open_store(s3, bucket, "pictures") as store:
        yield store


def spoil(s3: EmbeddedS3, bucket: str, content: bytes) -> None:
    """Put other bytes under the file's key before the file is stored, as a bad disk would."""
    folder = s3.data_dir / bucket / "pictures"
    folder.mkdir()
    (folder / SHA256).write_bytes(content)


def flipped(at: int) -> bytes:
    content = bytearray(CONTENT)
    content[at] ^= 1
    return bytes(content)


@pytest.mark.parametrize("content", [b"", b"x", CONTENT, os.urandom(11_000_000)], ids=["none", "one", "some", "parts"])
async def test_bytes_come_back_as_they_were_put(store: BlobStore, content: bytes) -> None:
    sha256 = hashlib.sha256(content).hexdigest()
    await store.put_bytes(content, sha256)
    await store.put_bytes(content, sha256)
    assert await store.get_bytes(sha256) == content
    assert await store.verify(sha256) == len(content)
    await store.delete(sha256)
    for call in (store.get_bytes, store.verify):
        with pytest.raises(BlobMissing):
            await call(sha256)
    with pytest.raises(BlobMissing):
        await store.get_piece(sha256, BlobPiece.of(b"x", 0))


async def test_bytes_and_files_are_the_same(store: BlobStore, tmp_path: Path) -> None:
    await store.put_bytes(CONTENT, SHA256)
    assert await store.fetch(SHA256, tmp_path / "back") == len(CONTENT)
    await store.delete(SHA256)
    await store.put_file(tmp_path / "back", SHA256)
    assert await store.get_bytes(SHA256) == CONTENT


async def test_pieces_come_back_one_by_one(store: BlobStore) -> None:
    await store.put_bytes(CONTENT, SHA256)
    for start, end in ((0, 1), (0, 300_000), (100_000, 150_000), (299_999, 300_000), (5, 5)):
        assert await store.get_piece(SHA256, BlobPiece.of(CONTENT[start:end], start)) == CONTENT[start:end]


@pytest.mark.parametrize(
    "spoiled",
    [flipped(100_000), CONTENT[:149_999], CONTENT[:100_000], CONTENT[:9], b"", CONTENT[1:] + b"x"],
    ids=["flipped", "cut", "cut at the piece", "cut to nine", "empty", "displaced"],
)
async def test_a_piece_that_is_cut_flipped_or_displaced_is_found(
    store: BlobStore, s3: EmbeddedS3, bucket: str, spoiled: bytes
) -> None:
    spoil(s3, bucket, spoiled)
    with pytest.raises(BlobCorrupt, match=SHA256):
        await store.get_piece(SHA256, PIECE)
    with pytest.raises(BlobCorrupt, match=SHA256):
        await store.get_bytes(SHA256)
    with pytest.raises(BlobCorrupt, match=SHA256):
        await store.verify(SHA256)


async def test_a_piece_before_the_damage_is_still_good(store: BlobStore, s3: EmbeddedS3, bucket: str) -> None:
    spoil(s3, bucket, flipped(299_999))
    assert await store.get_piece(SHA256, PIECE) == CONTENT[100_000:150_000]
    with pytest.raises(BlobCorrupt, match="other bytes"):
        await store.get_piece(SHA256, LAST)


async def test_a_file_that_is_put_while_it_is_looked_for_is_read(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    get, calls = Minio.get_object, 0

    def put_after(client: Minio, bucket: str, key: str, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        try:
            return get(client, bucket, key, **options)
        finally:
            if calls == 1:
                client.put_object(bucket, key, io.BytesIO(CONTENT), len(CONTENT))

    monkeypatch.setattr(Minio, "get_object", put_after)
    assert await store.get_bytes(SHA256) == CONTENT
    assert calls == 2


async def test_new_bytes_are_put_without_a_look_for_them(store: BlobStore, s3: EmbeddedS3, bucket: str) -> None:
    spoil(s3, bucket, flipped(0))
    await store.put_bytes(CONTENT, SHA256)
    with pytest.raises(BlobCorrupt):  # a file of this size was there
        await store.verify(SHA256)
    await store.put_bytes(CONTENT, SHA256, is_new=True)
    assert await store.verify(SHA256) == len(CONTENT)


@pytest.mark.slow
async def test_bytes_from_a_server_that_is_silent_are_unavailable_within_the_limit(
    s3: EmbeddedS3, tcp_proxy: MakeProxy, bucket: str
) -> None:
    parts = urlsplit(s3.endpoint)
    proxy = tcp_proxy(str(parts.hostname), int(parts.port or 80))
    store = make_store(s3, bucket, "pictures", f"http://{proxy.address}")
    await store.open()
    await store.put_bytes(CONTENT, SHA256)
    calls = (lambda: store.get_bytes(SHA256), lambda: store.get_piece(SHA256, PIECE), lambda: store.verify(SHA256))
    for call in calls:
        proxy.silence_existing()
        with pytest.raises(Unavailable):
            await call()
        await call()
    await store.close()


async def test_a_service_outside_of_the_shared_bucket_reads_its_own_files_alone(
    s3: EmbeddedS3, store: BlobStore, bucket: str
) -> None:
    loader = make_store(s3, bucket, "loader")  # a wrong setting names the same bucket
    await loader.put_bytes(CONTENT, SHA256)
    with pytest.raises(BlobMissing):
        await store.get_bytes(SHA256)
    assert await store.list_own() == []
    await store.put_bytes(CONTENT, SHA256)
    await store.delete(SHA256)
    assert await loader.get_bytes(SHA256) == CONTENT
    await loader.close()


async def test_a_file_of_ours_that_is_missing_is_not_verified_by_that_of_another(s3: EmbeddedS3, bucket: str) -> None:
    api, loader = (make_store(s3, bucket, owner) for owner in ("api", "loader"))
    await api.open()
    await api.put_bytes(CONTENT, SHA256)
    assert await loader.get_bytes(SHA256) == CONTENT
    with pytest.raises(BlobMissing):
        await loader.verify(SHA256)
    for store in (api, loader):
        await store.close()


class PicturesSettings(ServiceSettings):
    """Settings of a service with a separate bucket."""


async def test_a_bucket_of_its_own_is_a_setting_of_the_service(s3: EmbeddedS3, bucket: str) -> None:
    settings = PicturesSettings(s3_endpoint=s3.endpoint, s3_access_key=s3.access_key, s3_secret_key=s3.secret_key)
    store = blobs_of(settings, bucket=bucket)
    await store.open()
    await store.put_bytes(CONTENT, SHA256)
    assert (s3.data_dir / bucket / settings.service_name() / SHA256).is_file()
    await store.close()
