"""A read whose caller is cancelled ends with its next chunk, and leaves no file."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from pathlib import Path
from urllib.parse import urlsplit

from classifeed_devkit.embedded.s3 import EmbeddedS3
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.stores import make_store
from classifeed_devkit.testing.tcp_proxy import MakeProxy

MANY_BYTES = 40_000_000
HELD_BYTES = 4_000_000


async def test_cancelled_fetch_reads_no_further_and_leaves_no_file(
    s3: EmbeddedS3, tcp_proxy: MakeProxy, tmp_path: Path
) -> None:
    """A thread cannot be interrupted: without checks it would read gigabytes and write a file that nobody needs."""
    passed, is_open = 0, threading.Event()

    def hold(data: bytes) -> bytes:
        nonlocal passed
        passed += len(data)
        if passed > HELD_BYTES:
            is_open.wait(60)
        return data

    parts = urlsplit(s3.endpoint)
    proxy = tcp_proxy(str(parts.hostname), int(parts.port or 80), rewrite=hold)
    content = os.urandom(MANY_BYTES)
    sha256, target = hashlib.sha256(content).hexdigest(), tmp_path / "target"
    store = make_store(s3, endpoint=f"http://{proxy.address}")
    await store.open()
    await store.put_bytes(content, sha256)
    fetching = asyncio.create_task(store.fetch(sha256, target))
    await until(lambda: passed > HELD_BYTES and target.stat().st_size > 0)
    fetching.cancel()
    await asyncio.wait({fetching})
    is_open.set()
    await until(lambda: not target.exists(), 20)
    assert fetching.cancelled()
    assert passed < MANY_BYTES
    await store.close()
