"""Two indexers as separate processes: shared shards, a pause past the lease, a kill, a drain."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed_common.db import Database
from classifeed_indexer.store.offsets import Offsets

from ..conftest import Registry, make_document

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(1200)]

DEADLINE_S = 180
Start = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
def environment(
    database_dsn: str, receiver_target: str, kafka: Any, topic: str, client: str, tmp_path: Path
) -> dict[str, str]:
    settings = {
        "DSN": database_dsn,
        "RECEIVER_ADDRESS": receiver_target,
        "KAFKA_BOOTSTRAP": kafka.bootstrap,
        "CLIENTS": client,
        "KEYS_DIR": str(tmp_path / "keys"),
        "LEASE_TTL_S": "2",
    }
    environment = {**os.environ, **{f"CLASSIFEED_INDEXER_{name}": value for name, value in settings.items()}}
    subprocess.run(
        [sys.executable, "-m", "classifeed_indexer", "migrate"], env=environment, check=True, timeout=DEADLINE_S
    )
    return environment


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-m", "classifeed_indexer"], env=environment))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait(DEADLINE_S)


@pytest.fixture
async def offsets(environment: dict[str, str], database_dsn: str, client: str) -> AsyncIterator[Offsets]:
    database = Database(database_dsn, schema="indexer", application_name="test")
    await database.open()
    yield Offsets(database, "search", client)
    await database.close()


async def wait_until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not await holds():
            await asyncio.sleep(0.05)


async def shares(offsets: Offsets) -> list[int]:
    """Return the number of shards of each live holder, in ascending order."""
    counts: dict[str, int] = defaultdict(int)
    for lease in (await offsets.list_holders(range(64))).values():
        counts[lease.holder] += 1
    return sorted(counts.values())


def index_of(sent: list[tuple[int, IndexDocument]]) -> dict[str, int]:
    """Return the versions that an index has after these messages, by the sink's rule."""
    fences: dict[int, int] = defaultdict(int)
    reached: dict[int, int] = defaultdict(int)
    versions = {}
    for shard, document in sent:
        if document.fence >= fences[shard] and document.idx > reached[shard]:
            fences[shard], reached[shard] = document.fence, document.idx
            versions[document.pk] = document.version
    return versions


async def test_pause_past_the_lease_and_kill(
    registry: Registry, start: Start, offsets: Offsets, read_topic: Any
) -> None:
    async def share_evenly() -> bool:
        return await shares(offsets) == [32, 32]

    async def one_has_all() -> bool:
        return await shares(offsets) == [64]

    async def delivered() -> bool:
        ends = dict(await registry.fetch("SELECT shard, last_idx FROM shards WHERE queue = 1"))
        stored = {key.shard: idx for key, idx in (await offsets.list_offsets()).items() if key.queue == 1 and idx}
        return stored == ends

    async def push(version: int) -> None:
        await registry.push(*[make_document(f"k{number}", version) for number in range(200)])

    first, second = start(), start()
    await wait_until(share_evenly)
    await push(1)
    await wait_until(delivered)
    first.send_signal(signal.SIGSTOP)
    await push(2)
    await wait_until(one_has_all)
    await wait_until(delivered)
    first.send_signal(signal.SIGCONT)
    await push(3)
    await wait_until(share_evenly)  # it continues and gets its share again
    second.kill()
    await push(4)
    await wait_until(one_has_all)
    await wait_until(delivered)
    assert index_of(await asyncio.to_thread(read_topic)) == {f"k{number}": 4 for number in range(200)}
    first.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(first.wait, DEADLINE_S) == 0
    assert await shares(offsets) == []  # released, so that a successor need not wait for the lease to expire
