"""BlobStore with a silent object store: calls end, and no other work waits for them."""

from __future__ import annotations

import asyncio
import hashlib
import os
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from classifeed_common.blobs import BlobStore, http_client
from classifeed_common.errors import Unavailable
from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import RECOVERY_LIMIT_S, Stopwatch, until
from classifeed_devkit.testing.stores import open_store
from classifeed_devkit.testing.tcp_proxy import MakeProxy, TcpProxy

from .slow_store import serve_store

MANY_BYTES = 40_000_000


@pytest.fixture
def proxy(s3: EmbeddedS3, tcp_proxy: MakeProxy) -> TcpProxy:
    parts = urlsplit(s3.endpoint)
    return tcp_proxy(str(parts.hostname), int(parts.port or 80))


@pytest.fixture
async def store(s3: EmbeddedS3, proxy: TcpProxy) -> AsyncIterator[BlobStore]:
    async with open_store(s3, endpoint=f"http://{proxy.address}") as store:
        yield store


def made(folder: Path, size_bytes: int) -> tuple[Path, str]:
    path = folder / uuid.uuid4().hex
    content = os.urandom(size_bytes)
    path.write_bytes(content)
    return path, hashlib.sha256(content).hexdigest()


async def unavailable(what: str, call: Callable[[], Awaitable[object]]) -> None:
    """Assert that the call ends with a retryable error, within twice the promised time."""
    watch = Stopwatch(what)
    with pytest.raises(Unavailable) as caught:
        async with asyncio.timeout(40):
            await call()
    watch.stop()
    assert caught.value.reason == "OBJECT_STORE_UNAVAILABLE"


@pytest.mark.slow
async def test_calls_on_kept_connections_that_are_silent_end_and_the_next_ones_succeed(
    store: BlobStore, proxy: TcpProxy, tmp_path: Path
) -> None:
    path, sha256 = made(tmp_path, 1000)
    await store.check()
    await store.put_file(path, sha256)
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "S3: put": lambda: store.put_file(path, sha256),
        "S3: check": store.check,
        "S3: get": lambda: store.fetch(sha256, tmp_path / "back"),
        "S3: delete": lambda: store.delete(sha256),
    }
    for what, call in calls.items():
        proxy.silence_existing()
        await unavailable(what, call)
        await call()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["get", "put"])
@in_campaigns
async def test_a_transfer_that_falls_silent_amid_its_bytes_ends(
    store: BlobStore, proxy: TcpProxy, tmp_path: Path, what: str
) -> None:
    path, sha256 = made(tmp_path, MANY_BYTES)
    if what == "get":
        await store.put_file(path, sha256)
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "get": lambda: store.fetch(sha256, tmp_path / "back"),
        "put": lambda: store.put_file(path, sha256),
    }
    before = proxy.forwarded_bytes
    stopping = asyncio.create_task(unavailable(f"S3: amid a {what}", calls[what]))
    await until(lambda: proxy.forwarded_bytes > before + 1_000_000)
    proxy.silence_existing()
    await stopping
    await calls[what]()
    assert await store.fetch(sha256, tmp_path / "back") == MANY_BYTES


@pytest.mark.slow
async def test_a_store_that_is_silent_altogether_fails_calls_until_it_is_back(
    store: BlobStore, proxy: TcpProxy, tmp_path: Path
) -> None:
    path, sha256 = made(tmp_path, MANY_BYTES)
    proxy.silence_all()
    await unavailable("S3: put while nothing works", lambda: store.put_file(path, sha256))
    proxy.restore()
    await store.put_file(path, sha256)


@pytest.mark.slow
async def test_transfers_that_hang_keep_nobody_else_waiting(store: BlobStore, proxy: TcpProxy, tmp_path: Path) -> None:
    path, sha256 = made(tmp_path, 1000)
    await store.put_file(path, sha256)
    proxy.silence_all()
    hanging = [asyncio.create_task(store.fetch(sha256, tmp_path / str(number))) for number in range(40)]
    threads_of_others = [asyncio.to_thread(lambda: None) for _ in range(40)]
    async with asyncio.timeout(RECOVERY_LIMIT_S):
        await asyncio.gather(*threads_of_others)
        proxy.restore()
        await store.check()  # over another connection, in another thread
        await store.delete(sha256)
    assert not any(task.done() for task in hanging)
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)


async def test_completing_a_large_put_may_take_longer_than_any_silence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(http_client, "SILENCE_S", 1.0)
    path, sha256 = made(tmp_path, 12_000_000)
    with serve_store(complete_s=3.0) as (slow, address):
        store = BlobStore(endpoint=address, access_key="a", secret_key="b" * 8, bucket="bucket")
        await store.put_file(path, sha256)
        await store.close()
    assert slow.completed
    assert (slow.parts, slow.most_parts_at_once) == (3, 1)
