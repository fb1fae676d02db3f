"""Open uploads: aborted when idle, limited in number, and small in memory while they wait."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from classifeed.feeds.v1.feed_service_pb2 import UploadFeedRequest, UploadSpec
from classifeed_api.rpc.feed_service.upload_pieces import LEAST_BYTES
from classifeed_common.spool import run_folder

PIECE = 50_000
Refusal = Callable[[Awaitable[object]], Awaitable[tuple[grpc.StatusCode, str, list[str]]]]
StartApi = Callable[..., Awaitable[Any]]


async def open_upload(api: Any, seller_id: str = "shop", *, pieces: int = 0) -> Any:
    """Open an upload, leave it open and return the call."""
    call = api.stub.UploadFeed()
    await call.write(UploadFeedRequest(spec=UploadSpec(seller_id=seller_id)))
    for _ in range(pieces):
        await call.write(UploadFeedRequest(chunk=b"x" * PIECE))
    return call


async def parts(seller_id: str = "shop") -> AsyncIterator[UploadFeedRequest]:
    yield UploadFeedRequest(spec=UploadSpec(seller_id=seller_id))
    yield UploadFeedRequest(chunk=b"<yml_catalog/>")


def spooled(api: Any) -> list[int]:
    return [file.stat().st_size for file in api.spool.glob("*/upload-*")]


@pytest.mark.parametrize("pieces", [None, 0, 1], ids=["not even the spec", "only the spec", "one piece"])
async def test_silent_upload_is_ended_and_leaves_nothing(
    start_api: StartApi, refusal: Refusal, pieces: int | None
) -> None:
    api = await start_api(roles={"serve"}, idle_s=0.5, upload_streams=1)
    call = api.stub.UploadFeed() if pieces is None else await open_upload(api, pieces=pieces)
    async with asyncio.timeout(60):
        assert await refusal(call) == (grpc.StatusCode.DEADLINE_EXCEEDED, "UPLOAD_IDLE", [])
    await api.stub.UploadFeed(parts())  # its place is free
    assert list(api.spool.iterdir()) == []


async def test_upload_that_drips_is_ended(start_api: StartApi, refusal: Refusal) -> None:
    api = await start_api(roles={"serve"}, idle_s=2)

    async def drops() -> AsyncIterator[UploadFeedRequest]:
        yield UploadFeedRequest(spec=UploadSpec(seller_id="shop"))
        while True:
            yield UploadFeedRequest(chunk=b"x")
            await asyncio.sleep(0.1)

    async with asyncio.timeout(60):
        assert await refusal(api.stub.UploadFeed(drops())) == (grpc.StatusCode.DEADLINE_EXCEEDED, "UPLOAD_IDLE", [])


@pytest.mark.parametrize(
    ("limits", "seller_id", "reason"),
    [
        ({"upload_streams": 2}, "other", "UPLOADS_FULL"),
        ({"upload_streams_per_seller": 2}, "shop", "SELLER_UPLOADS_FULL"),
    ],
)
async def test_uploads_past_the_limit_are_refused_at_once(
    start_api: StartApi, eventually: Callable[..., Awaitable[None]], limits: dict[str, int], seller_id: str, reason: str
) -> None:
    api = await start_api(roles={"serve"}, idle_s=600, spared_s=600, **limits)
    calls = [await open_upload(api, pieces=1) for _ in range(2)]
    await eventually(lambda: spooled(api) == [PIECE] * 2)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async with asyncio.timeout(60):
            await api.stub.UploadFeed(parts(seller_id))
    status = rpc_status.from_call(cast(grpc.Call, caught.value))
    assert status is not None
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert [detail.Unpack(info) or detail.Unpack(retry) for detail in status.details] == [True, True]
    assert (caught.value.code(), info.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, reason)
    assert retry.retry_delay.seconds > 0
    assert "send the file again" in str(caught.value.details())
    if reason == "SELLER_UPLOADS_FULL":
        await api.stub.UploadFeed(parts("other"))
    calls[0].cancel()
    await eventually(lambda: len(spooled(api)) == 1)
    await api.stub.UploadFeed(parts(seller_id))
    calls[1].cancel()
    await eventually(lambda: list(api.spool.iterdir()) == [])


async def test_idlest_upload_makes_place_when_all_places_are_taken(
    start_api: StartApi, eventually: Callable[..., Awaitable[None]]
) -> None:
    """Otherwise many sellers with one idle upload each could keep out all others for as long as they reconnect."""
    api = await start_api(roles={"serve"}, idle_s=600, spared_s=0.5, upload_streams=2, upload_limit_bytes=1 << 30)
    idle = await open_upload(api, "idle", pieces=1)
    await eventually(lambda: spooled(api) == [PIECE])
    busy = await open_upload(api, "busy", pieces=1)
    await eventually(lambda: spooled(api) == [PIECE] * 2)

    async def is_taken() -> bool:
        await busy.write(UploadFeedRequest(chunk=b"x" * LEAST_BYTES))
        try:
            await api.stub.UploadFeed(parts("other"))
        except grpc.aio.AioRpcError as error:
            assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            return False
        return True

    async with asyncio.timeout(60):
        while not await is_taken():
            await asyncio.sleep(0.05)
        with pytest.raises(grpc.aio.AioRpcError, match="another upload needed its slot"):
            await idle
    await busy.done_writing()
    await busy


async def test_open_upload_keeps_no_piece_in_memory(
    start_api: StartApi, eventually: Callable[..., Awaitable[None]]
) -> None:
    """The iterator of grpc.aio, the variable of a loop and that of a generator could each hold the last piece."""
    earlier = {id(each): each for each in gc.get_objects() if isinstance(each, UploadFeedRequest)}  # of other tests
    api = await start_api(roles={"serve"}, idle_s=600)
    calls = [await open_upload(api, pieces=1) for _ in range(3)]
    await eventually(lambda: spooled(api) == [PIECE] * 3)

    def pieces() -> list[int]:
        messages = [each for each in gc.get_objects() if isinstance(each, UploadFeedRequest)]
        return [len(message.chunk) for message in messages if message.chunk and id(message) not in earlier]

    await eventually(lambda: pieces() == [], limit_s=20)
    for call in calls:
        call.cancel()
    await eventually(lambda: list(api.spool.iterdir()) == [])


async def test_files_of_a_killed_process_go_with_the_next_start(start_api: StartApi) -> None:
    api = await start_api(roles=set())
    api.stop.set()
    with run_folder(api.spool) as left:
        kept = left.rename(api.spool / "run-kept")
        copy = api.spool / "run-left"
        copy.mkdir()
        (copy / "lock").touch()
        (copy / "upload-1").write_bytes(b"x")
        await start_api(roles=set())
        assert [folder.name for folder in api.spool.iterdir()] == ["run-kept"], "of a living process"
        kept.rename(left)
