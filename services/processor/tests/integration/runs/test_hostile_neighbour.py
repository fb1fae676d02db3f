"""A seller's files are rejected, raise and kill the reader, while the load of another seller succeeds.

150,000 offers with CLASSIFEED_CAMPAIGN=long, 2,000 otherwise.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS
from classifeed_processor.app.tasks.create_task import create_task
from classifeed_processor.bootstrap import prepare
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.settings import ProcessorSettings

from ..conftest import Scene, ScriptedOwner
from .faulty_processor import KILLS, RAISES

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(3600)]
SUCCEEDED, FAILED = task_pb2.TASK_STATUS_SUCCEEDED, task_pb2.TASK_STATUS_FAILED
OFFERS = 150_000 if IS_LONG else 2_000
LIMIT_S = 1500


class Pod:
    """Restarts the processor whenever it has died, like a cluster.

    Attributes:
        sellers: id of each seller by its name in the test.
        peak_mib: highest memory of one process.
    """

    def __init__(self, environment: dict[str, str], sellers: dict[str, str]) -> None:
        self._environment = environment
        self.sellers = sellers
        self.deaths = 0
        self.peak_mib = 0

    async def run(self, stop: asyncio.Event) -> None:
        command = (sys.executable, str(Path(__file__).with_name("faulty_processor.py")))
        while not stop.is_set():
            process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **self._environment})
            while process.returncode is None and not stop.is_set():
                self._measure(process.pid)
                await asyncio.sleep(0.05)
            if process.returncode is None:
                process.terminate()
            elif process.returncode == -signal.SIGKILL:
                self.deaths += 1
            await process.wait()

    def _measure(self, pid: int) -> None:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            return
        for line in lines:
            if line.startswith("VmHWM"):
                self.peak_mib = max(self.peak_mib, int(line.split()[1]) // 1024)


@pytest.fixture
async def pod(scene: Scene) -> AsyncIterator[Pod]:
    """Run the processor as a separate process, and for each seller a service offers in this process."""
    bootstrap = scene.settings["KAFKA_BOOTSTRAP"]
    await prepare(ProcessorSettings(kafka_bootstrap=bootstrap))
    owners = {
        name: ScriptedOwner(
            bootstrap, FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS, seller=f"{name}-{secrets.token_hex(4)}"
        )
        for name in ("neighbour", "raises", "kills", "archive")
    }
    environment = scene.environment(CONCURRENCY="4", JOBS_LEASE_S="6", LOG_LEVEL="error")
    pod, stop = Pod(environment, {name: owner.seller for name, owner in owners.items()}), asyncio.Event()
    roles: list[Pod | ScriptedOwner] = [pod, *owners.values()]
    running = [asyncio.create_task(role.run(stop)) for role in roles]
    yield pod
    stop.set()
    await asyncio.gather(*running)


@in_campaigns
async def test_neighbour_is_loaded_whatever_the_files_beside_it_do(scene: Scene, pod: Pod) -> None:
    async def load(name: str, content: bytes) -> TaskKey:
        sha256 = await scene.put(content)
        request = CreateTaskRequest(
            seller_id=pod.sellers[name], namespace="default", upload_id=secrets.token_hex(4), source_sha256=sha256
        )
        return await create_task(scene.database, scene.jobs, request, timeout_s=60)

    warm = await load("neighbour", scene.yml(scene.offer("w")))
    assert (await scene.wait_end(warm, LIMIT_S)).status == SUCCEEDED
    before_mib = pod.peak_mib

    began = time.monotonic()
    archive = await load("archive", bare_directory())
    refused = await scene.wait_end(archive, LIMIT_S)
    refused_s = time.monotonic() - began
    archive_mib = pod.peak_mib - before_mib

    began = time.monotonic()
    neighbour = await load("neighbour", scene.yml(*scene.offers(OFFERS, "n")))
    hostile = {
        "raises": await load("raises", scene.yml(scene.offer(RAISES))),
        "kills": await load("kills", scene.yml(scene.offer(KILLS))),
    }
    after = {name: await load(name, scene.yml(scene.offer(f"next of {name}"))) for name in hostile}
    loaded = await scene.wait_end(neighbour, LIMIT_S)
    loaded_s = time.monotonic() - began
    ended = {name: await scene.wait_end(key, LIMIT_S) for name, key in hostile.items()}
    followed = {name: await scene.wait_end(key, LIMIT_S) for name, key in after.items()}

    print(  # noqa: T201
        f"51 MB archive refused in {refused_s:.2f} s with {archive_mib} MiB more; {OFFERS:,} offers beside files that "
        f"raise and kill in {loaded_s:.1f} s, all ended in {time.monotonic() - began:.1f} s; {pod.deaths} deaths, "
        f"peak {pod.peak_mib} MiB"
    )
    assert (refused.status, refused.error_code) == (FAILED, "ARCHIVE_AMBIGUOUS")
    assert archive_mib <= 64
    assert (loaded.status, loaded.statistics.total) == (SUCCEEDED, OFFERS)
    codes = {name: (task.status, task.error_code) for name, task in ended.items()}
    assert codes == {"raises": (FAILED, "INTERNAL_FAULT"), "kills": (FAILED, "QUARANTINED")}
    assert all("(incident " in task.error_message for task in ended.values())
    assert [task.status for task in followed.values()] == [SUCCEEDED] * 2
    assert pod.deaths == 3


def bare_directory() -> bytes:
    """Return a zip archive that consists of 51 MB of directory records."""
    entry = b"PK\1\2" + bytes(42)
    count = 51_000_000 // len(entry)
    size = count * len(entry)
    head = b"PK\3\4"
    tail = b"PK\5\6" + bytes(4) + 2 * (count & 0xFFFF).to_bytes(2, "little") + size.to_bytes(4, "little")
    return head + entry * count + tail + len(head).to_bytes(4, "little") + bytes(2)
