"""Files of originals: shared by all readers, deleted with the last one, within a limit of bytes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import pytest

from classifeed_common.blobs import BlobMissing, BlobStore
from classifeed_common.errors import ResourceExhausted
from classifeed_pictures.clients.original_spool import OriginalSpool

SIZE = 1000


class Store:
    """A fake store; the contents of files are made of their names."""

    def __init__(self) -> None:
        self.fetched: list[str] = []

    async def fetch(self, sha256: str, target: Path) -> int:
        self.fetched.append(sha256)
        await asyncio.sleep(0)
        if sha256 == "missing":
            raise BlobMissing(sha256)
        target.write_bytes(sha256.encode() * SIZE)
        return len(sha256) * SIZE


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def spool(store: Store, tmp_path: Path) -> OriginalSpool:
    return OriginalSpool(cast(BlobStore, store), tmp_path, max_bytes=2 * SIZE)


async def test_readers_share_a_file_until_the_last_one_leaves(spool: OriginalSpool, store: Store) -> None:
    async def read() -> bytes:
        async with spool.open("a", SIZE) as opened:
            await asyncio.sleep(0)
            return opened.file.read(0) + bytes(opened.size_bytes)

    async with spool.open("a", SIZE) as opened:
        await asyncio.gather(*(read() for _ in range(10)))
        assert opened.file.read() == b"a" * SIZE
        await read()
        assert opened.file.read(1) == b""
    with pytest.raises(ValueError, match="closed file"):
        opened.file.read(1)
    assert store.fetched == ["a"]
    await read()
    assert store.fetched == ["a", "a"]


async def test_files_are_within_a_limit_of_bytes(spool: OriginalSpool) -> None:
    async with spool.open("a", SIZE), spool.open("b", SIZE), spool.open("a", SIZE):
        with pytest.raises(ResourceExhausted, match="2 originals of 2000 bytes"):
            async with spool.open("c", SIZE):
                pass
    async with spool.open("c", 100 * SIZE):
        pass  # a single file always fits


async def test_a_file_that_cannot_be_had_leaves_nothing(spool: OriginalSpool, tmp_path: Path) -> None:
    with pytest.raises(BlobMissing):
        async with spool.open("missing", 2 * SIZE):
            pass
    async with spool.open("a", SIZE), spool.open("b", SIZE):
        assert not list(tmp_path.rglob("*a")), "the file has no name while it is used"
