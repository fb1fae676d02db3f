"""From a request to a stored picture, through all roles, with real HTTP, Kafka, PostgreSQL and S3."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from typing import Any, Final
from urllib.parse import urlsplit

import grpc
import pytest

from classifeed.jobs.v1.job_pb2 import JOB_STATUS_SUCCEEDED
from classifeed.jobs.v1.job_service_pb2 import TriggerJobRequest
from classifeed.pictures.v1.picture_service_pb2 import (
    BatchGetStatesRequest,
    DeletePicturesRequest,
    GetStateRequest,
    LookAgainRequest,
    RequestPicturesRequest,
)
from classifeed_common.blobs import BlobCorrupt, BlobMissing
from classifeed_common.blobs.http_client import HttpClient
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.recovery import until

from .backup_runs import change_file, ended
from .conftest import Service
from .picture_host import PictureHost, Respond, jpeg
from .samples import growth

VERIFY: Final = "pictures.verify-blobs"


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
    # Another spelling of the URL names the same picture.
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


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def _cut(content: bytes) -> bytes:
    return content[:-1]


def _gone(_content: bytes) -> None:
    return None


async def test_files_that_are_flipped_cut_or_missing_are_found_and_downloaded_again(
    service: Service, host: PictureHost
) -> None:
    """Each fault hits the original of one picture and the versions of another; one picture is intact."""
    damages = [(change, of_original) for change in (_flipped, _cut, _gone) for of_original in (True, False)]
    paths = [f"/{number}.jpg" for number in range(len(damages) + 1)]
    await service.request([host.put(path, jpeg(number)) for number, path in enumerate(paths)])
    infos = {result.url: result.info for result in await service.results(len(paths))}
    faults = {fault: growth("blobs_damaged_total", "classifeed_", schema=service.database.schema, fault=fault)
              for fault in ("missing", "corrupt")}  # fmt: skip
    for path, (change, of_original) in zip(paths, damages, strict=False):
        original = infos[host.url(path)].content_hash.hex()
        files = await service.rows(
            "SELECT sha256 FROM blob_refs WHERE ref IN (SELECT ref FROM blob_refs WHERE sha256 = %s)", original
        )
        [name] = [name for (name,) in files if (name == original) is of_original]
        await asyncio.to_thread(change_file, service, f"pictures/{name}", change)
    verify = TriggerJobRequest(queue=VERIFY, task=VERIFY, lock_key=VERIFY)
    job = await ended(service, (await service.jobs.TriggerJob(verify)).job_id)
    assert job.status == JOB_STATUS_SUCCEEDED
    assert {fault: grown() for fault, grown in faults.items()} == {"missing": 2, "corrupt": 4}

    async def are_whole() -> bool:
        for (name,) in await service.rows("SELECT sha256 FROM blobs"):
            try:
                await service.blobs.verify(name)
            except (BlobMissing, BlobCorrupt):
                return False
        return True

    await until(are_whole)
    assert [host.count(path) for path in paths] == [2] * len(damages) + [1]
    async with loopback_client(f"http://{service.http_address}") as http:
        for info in infos.values():
            for size in ("card", "orig"):
                path = f"/get/{info.namespace}/{info.group_id}/{info.name}/{size}"
                assert (await http.get(path)).status_code == 200


async def test_what_cannot_be_read_is_said_until_it_is_there_again(service: Service, host: PictureHost) -> None:
    await service.request([host.put("/1.jpg", jpeg())])
    [result] = await service.results(1)
    info = result.info
    path = f"/get/{info.namespace}/{info.group_id}/{info.name}/card"
    for (name,) in await service.rows("SELECT sha256 FROM blobs"):
        await service.blobs.delete(name)
    async with loopback_client(f"http://{service.http_address}") as http:
        assert (await http.get(path)).status_code == 503
        await service.jobs.TriggerJob(TriggerJobRequest(queue=VERIFY, task=VERIFY, lock_key=VERIFY))

        async def is_back() -> bool:
            return (await http.get(path)).status_code == 200

        await until(is_back)
    assert host.count("/1.jpg") == 2


def _zipped(body: bytes, length: int | None = None) -> Respond:
    """Return a page with compressed bytes and their length in the header."""

    async def respond(writer: asyncio.StreamWriter) -> None:
        head = "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Encoding: gzip\r\n"
        writer.write(f"{head}Content-Length: {length or len(body)}\r\n\r\n".encode() + body)
        await writer.drain()

    return respond


async def test_a_picture_that_comes_compressed_is_taken_whole_or_not_at_all(
    service: Service, host: PictureHost
) -> None:
    picture = jpeg(1)
    whole = gzip.compress(picture)
    host.responses = {
        "/good.jpg": _zipped(whole),
        "/cut.jpg": _zipped(whole[:-2000]),
        "/cut-inside.jpg": _zipped(gzip.compress(picture[:-2000])),
        "/without-end.jpg": _zipped(whole[:-8]),
        "/wrong.jpg": _zipped(picture),
        "/bomb.jpg": _zipped(gzip.compress(bytes(40 << 20))),
        "/page.jpg": _zipped(gzip.compress(b"<html>Not found</html>")),
        "/short.jpg": _zipped(whole[:-2000], len(whole)),
    }
    urls = {path: host.url(path) for path in host.responses}
    await service.request(list(urls.values()))
    results = {result.url: result for result in await service.results(5)}
    codes = {path: results[url].failure.code for path, url in urls.items() if url in results}
    assert codes == {
        "/good.jpg": "",
        "/cut-inside.jpg": "PICTURE_BROKEN",
        "/wrong.jpg": "ENCODING_BROKEN",
        "/bomb.jpg": "TOO_LARGE",
        "/page.jpg": "PICTURE_NOT_A_PICTURE",
    }
    assert all(result.failure.message.count(" ") > 5 for result in results.values() if result.HasField("failure"))
    good = results[urls["/good.jpg"]].info
    assert (good.width, good.height) == (640, 480)
    assert good.source_hash == hashlib.sha256(picture).digest()
    assert await service.rows("SELECT count(*) FROM stored_pictures") == [(1,)]

    # A truncated file may be complete the next time, so it is retried before a failure is reported.
    cut = {url for path, url in urls.items() if path not in codes}

    async def have_failed() -> bool:
        batch = await service.pictures.BatchGetStates(BatchGetStatesRequest(urls=cut))
        return {state.last_failure.code for state in batch.states} == {"TRUNCATED"}

    await until(have_failed)
    host.responses = dict.fromkeys(host.responses, _zipped(gzip.compress(jpeg(2))))
    await service.pictures.LookAgain(LookAgainRequest(urls=cut))
    assert {(result.url, result.info.width) for result in await service.results(3)} == {(url, 640) for url in cut}


async def test_a_copy_puts_nothing_into_the_object_store(
    service: Service, host: PictureHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, str]] = []
    send = HttpClient.urlopen

    def note(client: HttpClient, method: str, url: str, *arguments: Any, **options: Any) -> Any:
        sent.append((method, urlsplit(url).path.split("/")[2] if url.count("/") > 4 else ""))
        return send(client, method, url, *arguments, **options)

    monkeypatch.setattr(HttpClient, "urlopen", note)
    url = host.put("/1.jpg", jpeg(width=1200, height=900))
    await service.request([url])
    [first] = await service.results(1)
    assert [method for method, place in sent if place == "pictures"] == ["PUT"] * 2  # the original and its versions
    sent.clear()
    await service.request([url], namespace="shops")
    [copy] = await service.results(1)
    assert copy.info.content_hash == first.info.content_hash
    assert [(method, place) for method, place in sent if place == "pictures"] == []
    # The watched function is the one that reads the bytes.
    async with loopback_client(f"http://{service.http_address}") as http:
        path = f"/get/{copy.info.namespace}/{copy.info.group_id}/{copy.info.name}/orig"
        assert (await http.get(path)).status_code == 200
    assert ("GET", "pictures") in sent


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
