"""The idle timeout of an upload, with a fake clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from classifeed.feeds.v1.feed_service_pb2 import UploadFeedRequest
from classifeed_api.app.uploads.limit_uploads import OpenUpload
from classifeed_api.rpc.feed_service.upload_pieces import LEAST_BYTES, pieces_of
from classifeed_common.errors import DeadlineExceeded

IDLE_S = 30.0


async def read(monkeypatch: pytest.MonkeyPatch, pieces: list[tuple[float, int]], *, taking_s: float = 0) -> int:
    """Return the bytes read from pieces that arrive after the given seconds; processing each takes `taking_s`."""
    loop, passed_s = asyncio.get_running_loop(), 0.0
    real = loop.time
    monkeypatch.setattr(loop, "time", lambda: real() + passed_s)

    async def requests() -> AsyncIterator[UploadFeedRequest]:
        nonlocal passed_s
        for after_s, size in pieces:
            passed_s += after_s
            for _ in range(5):
                await asyncio.sleep(0)  # an expired timeout is noticed here
            yield UploadFeedRequest(chunk=b"x" * size)

    total = 0
    async for request in pieces_of(requests(), IDLE_S, OpenUpload()):
        total += len(request.chunk)
        passed_s += taking_s
    return total


async def test_slow_upload_goes_on_as_long_as_enough_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await read(monkeypatch, [(25, LEAST_BYTES)] * 20) == 20 * LEAST_BYTES
    assert await read(monkeypatch, [(12, LEAST_BYTES // 2)] * 20) == 10 * LEAST_BYTES


async def test_time_that_we_take_is_not_the_senders(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await read(monkeypatch, [(1, 10)] * 20, taking_s=100) == 200


@pytest.mark.parametrize("pieces", [[(31, LEAST_BYTES)], [(25, LEAST_BYTES), (31, 1)], [(12, 1)] * 3])
async def test_too_little_within_the_time_ends_it(
    monkeypatch: pytest.MonkeyPatch, pieces: list[tuple[float, int]]
) -> None:
    with pytest.raises(DeadlineExceeded, match="64 KiB came within 30 s"):
        await read(monkeypatch, pieces)
