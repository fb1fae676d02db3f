"""From a request to a stored picture, through all roles, with real HTTP, Kafka, PostgreSQL and S3."""

from __future__ import annotations

import asyncio
from typing import Literal

import grpc
import pytest

from classifeed.pictures.v1.picture_service_pb2 import (
    DeletePicturesRequest,
    GetStateRequest,
    LookAgainRequest,
    RequestPicturesRequest,
)
from classifeed_common.blobs import DamagedBlob
from classifeed_common.outbox import Outbox
from classifeed_common.testing.http import loopback_client
from classifeed_common.testing.recovery import until
from classifeed_pictures.app.backups.refetch_damaged import refetch_damaged

from .conftest import Service
from .picture_host import PictureHost, jpeg


async def test_requests_bring_pictures_and_each_is_settled(service: Service, host: PictureHost) -> None:
    urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(5)]
    await service.request(urls * 4)
    results = await service.results(20)
    assert sorted(int(result.reference) for result in results) == list(range(20))
    assert {result.url for result in results} == set(urls)
    assert all(result.info.width == 640 and result.info.namespace == "offers" for result in results)
    assert [host.count(f"/{number}.jpg") for number in range(5)] == [1] * 5


async def test_a_known_picture_is_settled_without_a_request_to_its_host(service: Service, host: PictureHost) -> None:
    url = host.put("/1.jpg", jpeg())
    await service.request([url])
    [first] = await service.results(1)
    # Written otherwise, it is the same picture.
    await service.request([url.replace("http://", "HTTP://") + "?utm_source=feed#top"], prefix="again-")
    [again] = await service.results(1)
    assert again.info == first.info
    assert host.count("/1.jpg") == 1


async def test_another_namespace_gets_a_copy_with_its_own_sizes(service: Service, host: PictureHost) -> None:
    url = host.put("/1.jpg", jpeg(width=1200, height=900))
    await service.request([url])
    [offers] = await service.results(1)
    await service.request([url], namespace="shops")
    [shops] = await service.results(1)
    assert shops.info.namespace == "shops"
    assert shops.info.content_hash == offers.info.content_hash
    assert [size.name for size in shops.info.sizes] == ["card"]
    assert [size.name for size in offers.info.sizes] == ["small", "card", "large"]
    assert host.count("/1.jpg") == 1


async def test_a_missing_picture_is_a_failure_in_words(service: Service, host: PictureHost) -> None:
    await service.request([host.url("/none.jpg"), host.put("/page.jpg", b"<html>Not found</html>")])
    failures = {result.url: result.failure for result in await service.results(2)}
    missing, page = failures[host.url("/none.jpg")], failures[host.url("/page.jpg")]
    assert (missing.code, missing.http_status) == ("HTTP_NOT_FOUND", 404)
    assert page.code == "PICTURE_NOT_A_PICTURE"
    state = await service.pictures.GetState(GetStateRequest(url=host.url("/none.jpg")))
    assert state.last_failure == missing
    assert state.HasField("next_attempt_time")


async def test_a_later_success_is_settled_again(service: Service, host: PictureHost) -> None:
    url = host.url("/late.jpg")
    await service.request([url])
    [failed] = await service.results(1)
    host.put("/late.jpg", jpeg())
    await service.pictures.LookAgain(LookAgainRequest(urls=[url]))
    [stored] = await service.results(1)
    assert stored.info.width == 640
    assert stored.attempt > failed.attempt


async def test_what_is_due_is_found_by_a_pass_over_the_states(service: Service, host: PictureHost) -> None:
    url = host.url("/late.jpg")
    await service.request([url])
    await service.results(1)
    host.put("/late.jpg", jpeg())
    due = "UPDATE pictures SET next_attempt_at = now(), retry_at = now(), revision = revision + 1 RETURNING 1"
    await service.rows(due)
    assert (await service.results(1))[0].HasField("info")


async def test_what_is_deleted_can_be_had_again(service: Service, host: PictureHost) -> None:
    url = host.put("/1.jpg", jpeg())
    await service.request([url])
    await service.results(1)
    await service.pictures.DeletePictures(DeletePicturesRequest(urls=[url]))

    async def is_gone() -> bool:
        return await service.rows("SELECT count(*) FROM stored_pictures") == [(0,)]

    await until(is_gone)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await service.pictures.GetState(GetStateRequest(url=url))
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
    await service.pictures.RequestPictures(RequestPicturesRequest(urls=[url], namespace="offers"))

    async def is_back() -> bool:
        return await service.rows("SELECT count(*) FROM stored_pictures") == [(1,)]

    await until(is_back)
    assert host.count("/1.jpg") == 2


@pytest.mark.parametrize("fault", ["missing", "corrupt"])
async def test_files_that_were_lost_are_downloaded_again(
    service: Service, host: PictureHost, fault: Literal["missing", "corrupt"]
) -> None:
    await service.request([host.put("/1.jpg", jpeg())])
    [result] = await service.results(1)
    info = result.info
    path = f"/get/{info.namespace}/{info.group_id}/{info.name}/card"
    [(original,)] = await service.rows("SELECT encode(content_hash, 'hex') FROM stored_pictures")
    files = [name for (name,) in await service.rows("SELECT sha256 FROM blobs")]
    for name in files:
        await service.blobs.delete(name)
    async with service.database.transaction() as tx:
        await refetch_damaged(tx, [DamagedBlob(original, fault)], outbox=Outbox())
    async with loopback_client(f"http://{service.http_address}") as http:
        assert (await http.get(path)).status_code == 503

        async def is_back() -> bool:
            return (await http.get(path)).status_code == 200

        await until(is_back)
    assert host.count("/1.jpg") == 2


async def test_one_slow_host_keeps_no_other_waiting(service: Service, host: PictureHost) -> None:
    async def stall(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(3600)

    slow = [f"/slow-{number}.jpg" for number in range(40)]
    host.responses = dict.fromkeys(slow, stall)
    await service.request([host.url(path, host="localhost") for path in slow], prefix="slow-")
    urls = [host.put(f"/{number}.jpg", jpeg(number)) for number in range(10)]
    await service.request(urls)
    results = await service.results(10)
    assert all(result.HasField("info") for result in results)
