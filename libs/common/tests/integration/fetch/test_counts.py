"""Metrics of downloads."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from classifeed_common.fetch import AddressGuard, FetchLimits, FetchRequest, KeepAlive
from classifeed_common.fetch import fetcher as fetcher_module
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.fetch.metrics import DownloadCounts

from .conftest import Serve
from .loopback_web import LoopbackRequest, code_of


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"classifeed_fetch_{name}_total", labels) or 0.0


async def test_downloads_are_counted_by_code_and_host(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Hosts of other tests in this process may have taken all labels.
    monkeypatch.setattr(fetcher_module, "DOWNLOADS", DownloadCounts())

    async def here(_: str) -> list[str]:
        return ["127.0.0.1"]

    async def handler(request: LoopbackRequest) -> None:
        status = {"/gone": 410, "/same": 304}.get(request.target, 200)
        await request.respond(b"x" * 1000 if status == 200 else b"", status=status)

    web = await serve(handler, keeps=True)
    guard = AddressGuard(allow_loopback=True, resolver=here)
    fetcher = Fetcher(guard=guard, keep=KeepAlive(idle_s=60))
    host = "counted.example.com"
    names = [
        ("downloads", {"code": "OK"}),
        ("downloads", {"code": "HTTP_GONE"}),
        ("downloads", {"code": "URL_SCHEME"}),
        ("host_downloads", {"busiest_host": host, "code": "OK"}),
        ("host_downloads", {"busiest_host": host, "code": "HTTP_GONE"}),
        ("received_bytes", {"busiest_host": host}),
        ("connections", {"use": "new"}),
        ("connections", {"use": "kept"}),
    ]
    before = [value(name, **labels) for name, labels in names]
    for _ in range(2):
        await fetcher.fetch(FetchRequest(web.url(host=host)), tmp_path / "file")
    await fetcher.fetch(FetchRequest(web.url("/same", host), etag='"v1"'), tmp_path / "file")
    await code_of(fetcher, web.url("/gone", host), tmp_path / "file")
    await code_of(fetcher, "ftp://counted.example.com/", tmp_path / "file")
    await fetcher.close()
    grown = [value(name, **labels) - former for (name, labels), former in zip(names, before, strict=True)]
    assert grown == [3, 1, 1, 3, 1, 2000, 1, 3]


def all_downloads() -> float:
    samples = (sample for metric in REGISTRY.collect() for sample in metric.samples)
    return sum(sample.value for sample in samples if sample.name == "classifeed_fetch_downloads_total")


async def test_a_download_that_is_given_up_is_not_counted(fetcher: Fetcher, serve: Serve, tmp_path: Path) -> None:
    web = await serve(lambda request: request.left_alone())
    before = sum(
        sample.value for metric in REGISTRY.collect() for sample in metric.samples if "fetch_down" in sample.name
    )
    download = asyncio.create_task(fetcher.fetch(FetchRequest(web.url()), tmp_path / "file", FetchLimits()))
    async with asyncio.timeout(60):
        while not web.requests:
            await asyncio.sleep(0.01)
    download.cancel()
    with pytest.raises(asyncio.CancelledError):
        await download
    after = sum(
        sample.value for metric in REGISTRY.collect() for sample in metric.samples if "fetch_down" in sample.name
    )
    assert after == before
