"""Stored pictures: put, copied and deleted, each idempotent; quotas; sizes that are made later."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DeleteOrder
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database
from classifeed_common.errors import ResourceExhausted
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_devkit.testing.stores import open_store
from classifeed_imaging.model import Decoded, SizeSpec, Version
from classifeed_pictures.app.files.copy_picture import copy_picture, delete_picture
from classifeed_pictures.app.files.resize_picture import ResizePicture
from classifeed_pictures.app.files.store_picture import Source, StorePicture
from classifeed_pictures.domain.lifecycle.retries import NAMESPACE_UNKNOWN, QUOTA_EXCEEDED, SOURCE_GONE
from classifeed_pictures.domain.namespaces import Namespace, SizeRule
from classifeed_pictures.store.files.namespaces import get_used_bytes, put_namespace
from classifeed_pictures.store.files.stored import find_stored

from ..histories import hash_of

CARD = SizeRule("card", 320, 320, crop=False)
LARGE = SizeRule("large", 1024, 1024, crop=False)
OFFERS = Namespace("offers", (CARD, LARGE), ("jpeg", "webp"))
SAME = Namespace("same", (replace(CARD, name="preview"),), ("webp",))
WIDER = Namespace("wider", (CARD, SizeRule("wide", 800, 100, crop=True)), ("jpeg",))


class Maker:
    """Makes fake versions of a picture: the bytes of each contain its size and format."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str]] = []

    async def decode(self, data: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        assert isinstance(data, bytes)
        versions = tuple(self._version(size, format_) for size in sizes for format_ in formats)
        self.made += [(version.size, version.format) for version in versions]
        return Decoded("jpeg", 2000, 1000, 1, data, versions, b"12345678", 0x102030, "L")

    def _version(self, size: SizeSpec, format_: str) -> Version:
        return Version(size.name, format_, size.width, size.height // 2, f"{size.name}.{format_}".encode() * 100)


@dataclass
class Store:
    """Namespaces with pictures in real tables and real S3."""

    database: Database
    blobs: BlobStore
    maker: Maker

    async def put(self, number: int, *, attempt: int = 1, content: bytes = b"original") -> PictureInfo:
        storer = StorePicture(self.database, self.blobs, SystemClock())
        decoded = await self.maker.decode(content, _specs(OFFERS), OFFERS.formats)
        return await storer(Source(hash_of(number)), OFFERS, decoded, attempt=attempt)

    async def copy(self, order: CopyOrder) -> PictureInfo | LoadFailure | None:
        async with self.database.transaction() as tx:
            return await copy_picture(tx, order)

    async def delete(self, info: PictureInfo, *, attempt: int) -> bool:
        order = DeleteOrder(namespace=info.namespace, group_id=info.group_id, name=info.name, attempt=attempt)
        async with self.database.transaction() as tx:
            return await delete_picture(tx, order)

    async def read(self, info: PictureInfo) -> dict[tuple[str, str], bytes]:
        """Return the bytes of all versions of a picture, by size and format."""
        async with self.database.transaction() as tx:
            stored = await find_stored(tx, info.namespace, info.group_id, info.name)
        assert stored is not None
        whole = {("orig", info.format): await self.blobs.get_bytes(stored.original)}
        return whole | {
            (piece.rule.name, piece.format): await self.blobs.get_piece(piece.blob, piece.at) for piece in stored.pieces
        }

    async def used_bytes(self, namespace: str) -> int:
        async with self.database.transaction() as tx:
            return await get_used_bytes(tx, namespace)

    async def referred(self) -> dict[str, int]:
        async with self.database.connection() as connection:
            rows = await (await connection.execute("SELECT sha256, ref_count FROM blobs")).fetchall()
        return {sha256: count for sha256, count in rows if count}


def _specs(namespace: Namespace) -> list[SizeSpec]:
    return [SizeSpec(rule.name, rule.width, rule.height, rule.crop) for rule in namespace.sizes]


def _copy_to(info: PictureInfo, namespace: str, *, attempt: int = 2, number: int = 1) -> CopyOrder:
    return CopyOrder(url="u", url_hash=hash_of(number), source=info, namespace=namespace, attempt=attempt)


@asynccontextmanager
async def stored_pictures(database: Database, s3: EmbeddedS3, *namespaces: Namespace) -> AsyncIterator[Store]:
    """Yield a store with these namespaces over a database and a new bucket."""
    async with open_store(s3, owner="pictures") as blobs:
        async with database.transaction() as tx:
            for namespace in namespaces:
                await put_namespace(tx, namespace)
        yield Store(database, blobs, Maker())


@pytest.fixture
async def store(migrated_database: MigratedDatabase, s3: EmbeddedS3) -> AsyncIterator[Store]:
    async with stored_pictures(await migrated_database("classifeed_pictures"), s3, OFFERS, SAME, WIDER) as store:
        yield store


async def test_what_is_put_can_be_read_in_every_version(store: Store) -> None:
    info = await store.put(1)
    assert [(size.name, size.width, list(size.formats)) for size in info.sizes] == [
        ("card", 320, ["jpeg", "webp"]),
        ("large", 1024, ["jpeg", "webp"]),
    ]
    read = await store.read(info)
    assert read["orig", "jpeg"] == b"original"
    assert read["large", "webp"] == b"large.webp" * 100
    assert len(read) == 5
    # All small versions are in one file, the original is in another one.
    assert sorted((await store.referred()).values()) == [1, 1]


async def test_what_is_put_again_is_the_same(store: Store) -> None:
    first = await store.put(1)
    used_bytes = await store.used_bytes("offers")
    again = await store.put(1, attempt=5)
    assert (again.group_id, again.name) == (first.group_id, first.name)
    assert await store.used_bytes("offers") == used_bytes
    assert sorted((await store.referred()).values()) == [1, 1]


async def test_a_copy_moves_no_bytes_and_takes_only_the_sizes_of_its_namespace(store: Store) -> None:
    info = await store.put(1)
    files = await store.blobs.list_own()
    copy = await store.copy(_copy_to(info, "same"))
    assert isinstance(copy, PictureInfo)
    assert [(size.name, list(size.formats)) for size in copy.sizes] == [("preview", ["webp"])]
    assert set(await store.read(copy)) == {("orig", "jpeg"), ("preview", "webp")}
    assert await store.blobs.list_own() == files
    assert sorted((await store.referred()).values()) == [2, 2]
    assert await store.copy(_copy_to(info, "same")) == copy
    assert sorted((await store.referred()).values()) == [2, 2]


async def test_sizes_that_a_namespace_lacks_are_made_from_the_original(store: Store) -> None:
    info = await store.put(1)
    order = _copy_to(info, "wider")
    assert await store.copy(order) is None
    store.maker.made.clear()
    resize = ResizePicture(store.database, store.blobs, store.maker)
    copy = await resize(order)
    assert isinstance(copy, PictureInfo)
    assert store.maker.made == [("wide", "jpeg")]
    assert (await store.read(copy))["wide", "jpeg"] == b"wide.jpeg" * 100
    assert await resize(order) == copy


async def test_a_copy_outlives_its_source(store: Store) -> None:
    info = await store.put(1)
    copy = await store.copy(_copy_to(info, "same"))
    assert isinstance(copy, PictureInfo)
    assert await store.delete(info, attempt=1)
    while await BlobRefs().sweep(store.database, store.blobs, grace_s=0):
        pass
    assert len(await store.read(copy)) == 2


async def test_a_copy_of_what_is_gone_fails(store: Store) -> None:
    info = await store.put(1)
    await store.delete(info, attempt=1)
    failure = await store.copy(_copy_to(info, "same"))
    assert isinstance(failure, LoadFailure)
    assert failure.code == SOURCE_GONE
    failure = await ResizePicture(store.database, store.blobs, store.maker)(_copy_to(info, "wider"))
    assert isinstance(failure, LoadFailure)
    assert failure.code == SOURCE_GONE


async def test_a_namespace_that_there_is_not_is_named(store: Store) -> None:
    failure = await store.copy(_copy_to(await store.put(1), "nowhere"))
    assert isinstance(failure, LoadFailure)
    assert failure.code == NAMESPACE_UNKNOWN
    assert "'nowhere'" in failure.message


async def test_a_deletion_gives_bytes_back_once(store: Store) -> None:
    info = await store.put(1)
    other = await store.put(2, content=b"another")
    assert await store.delete(info, attempt=1)
    assert not await store.delete(info, attempt=1)
    assert await store.used_bytes("offers") == other.size_bytes + 4 * 100 * len(b"card.jpeg") + 2 * 100
    # Both have the same small versions, so their file stays for the other picture.
    assert sorted((await store.referred()).values()) == [1, 1]
    assert len(await store.read(other)) == 5


async def test_an_older_order_does_not_delete_what_was_stored_again(store: Store) -> None:
    info = await store.put(1, attempt=7)
    assert not await store.delete(info, attempt=6)
    await store.put(1, attempt=3)
    assert not await store.delete(info, attempt=6)
    assert await store.delete(info, attempt=7)


async def test_more_than_the_quota_is_refused_with_words(store: Store) -> None:
    info = await store.put(1)
    async with store.database.transaction() as tx:
        await put_namespace(tx, replace(OFFERS, quota_bytes=await get_used_bytes(tx, "offers") + 10))
        await put_namespace(tx, replace(SAME, quota_bytes=10))
    storer = StorePicture(store.database, store.blobs, SystemClock())
    limited = replace(OFFERS, quota_bytes=await store.used_bytes("offers") + 10)
    decoded = await store.maker.decode(b"more", _specs(OFFERS), OFFERS.formats)
    with pytest.raises(ResourceExhausted, match=r"offers has \d+ of \d+ bytes in use"):
        await storer(Source(hash_of(2)), limited, decoded, attempt=1)
    failure = await store.copy(_copy_to(info, "same"))
    assert isinstance(failure, LoadFailure)
    assert failure.code == QUOTA_EXCEEDED
    # A picture that is stored already needs no further space.
    await storer(
        Source(hash_of(1)), limited, await store.maker.decode(b"original", _specs(OFFERS), OFFERS.formats), attempt=9
    )
