"""Health of a service whose decoder is stopped."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx

from classifeed_common.processes import children_of
from classifeed_devkit.testing.recovery import Stopwatch, until

from ..conftest import Service
from ..picture_host import PictureHost, jpeg

_WORKER = b"classifeed_imaging.processes.worker"


def _decoders() -> list[int]:
    """Return the decoders that this process has started."""
    children = children_of(os.getpid())
    return [each.pid for each in children if _WORKER in Path(f"/proc/{each.pid}/cmdline").read_bytes()]


async def test_a_stopped_decoder_is_named_with_its_pid_and_its_pictures_come(
    service: Service, host: PictureHost, http: httpx.AsyncClient
) -> None:
    await service.request([host.put("/1.jpg", jpeg(1))])
    await service.results(1)
    [pid] = _decoders()
    os.kill(pid, signal.SIGSTOP)
    named = Stopwatch("a stopped decoder is named")

    async def is_named() -> bool:
        health = (await http.get("/health")).json()
        return f"picture decoder (process {pid})" in health["blocked"].get("watch-decoders", {})

    await until(is_named)
    named.stop()
    await service.request([host.put("/2.jpg", jpeg(2))], prefix="second-")
    os.kill(pid, signal.SIGCONT)
    [result] = await service.results(1)
    assert result.reference == "second-0"

    async def is_well() -> bool:
        return "watch-decoders" not in (await http.get("/health")).json()["blocked"]

    await until(is_well)
