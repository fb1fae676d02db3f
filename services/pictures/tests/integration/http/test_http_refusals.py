"""Refusals over HTTP: status and message, no caching, and the service continues."""

from __future__ import annotations

import asyncio
import gzip
import io
from functools import partial

import httpx
import pytest
from libs.imaging.tests.samples.hostile import SCRIPT, every_hostile, many_scans
from PIL import Image

from classifeed.pictures.v1.picture_service_pb2 import PictureNamespace, PutNamespaceRequest, SizeRule
from classifeed_imaging.processes.pool import DecodePool
from classifeed_pictures.parts import parts

from ..conftest import Service
from ..picture_host import PictureHost, jpeg

CARD = SizeRule(name="card", width=320, height=320)
# By name in `libs.imaging.tests.samples.hostile`: status, reason, and words of the message.
REFUSED = {
    "png of 100,000 x 100,000": (400, "PICTURE_TOO_MANY_PIXELS", "100000 × 100000"),
    "jpeg of 65,500 x 65,500": (400, "PICTURE_TOO_MANY_PIXELS", "65500 × 65500"),
    "avif grid of 100,000 x 100,000": (400, "PICTURE_TOO_MANY_PIXELS", "100000 × 100000"),
    "gif with 100,000 frames": (400, "PICTURE_TOO_MANY_FRAMES", "frames"),
    "webp of 7,000 x 7,000": (400, "PICTURE_TOO_MUCH_MEMORY", "memory"),
    "jpeg cut at 10/20": (400, "PICTURE_BROKEN", "Publish the picture again"),
    "png cut at 19/20": (400, "PICTURE_BROKEN", "Publish the picture again"),
    "svg with a script": (415, "PICTURE_UNSUPPORTED", "Publish it as JPEG, PNG, WebP, GIF or AVIF."),
    "heic": (415, "PICTURE_UNSUPPORTED", "Publish it as JPEG, PNG, WebP, GIF or AVIF."),
    "error page": (415, "PICTURE_NOT_A_PICTURE", "HTML page"),
    "zip": (415, "PICTURE_NOT_A_PICTURE", "archive"),
    "svg, compressed": (415, "PICTURE_NOT_A_PICTURE", "gzip-compressed data"),
}
POLYGLOTS = ("png and html", "gif and javascript", "jpeg and zip")


async def _put(http: httpx.AsyncClient, content: bytes, url: str = "https://shop.example/1.jpg") -> httpx.Response:
    headers = {"Content-Type": "image/jpeg"}
    return await http.post("/market/put_picture", params={"url": url}, content=content, headers=headers)


async def _namespace(service: Service, *formats: str, quota_bytes: int = 0) -> None:
    namespace = PictureNamespace(name="offers", sizes=[CARD], formats=formats, quota_bytes=quota_bytes)
    await service.pictures.PutNamespace(PutNamespaceRequest(namespace=namespace))


def _address(response: httpx.Response, size: str) -> str:
    info = response.json()
    return f"/get/{info['namespace']}/{info['group_id']}/{info['name']}/{size}"


async def test_hostile_bytes_are_refused_with_status_and_words_and_the_service_goes_on(http: httpx.AsyncClient) -> None:
    files = {case.name: case.make for case in every_hostile() if case.name in {*REFUSED, *POLYGLOTS}}
    found = {}
    for name, (_, _, words) in REFUSED.items():
        response = await _put(http, files[name]())
        problem = response.json()
        assert problem["status"] == response.status_code
        assert words in problem["detail"]
        found[name] = (response.status_code, problem["reason"], words)
        assert (await http.get("/health")).status_code == 200
    assert found == REFUSED
    for name in POLYGLOTS:
        response = await _put(http, files[name](), url=name)
        original = (await http.get(_address(response, "orig"))).content
        assert Image.open(io.BytesIO(original)).size == (200, 150)
        assert SCRIPT not in original
        assert b"payload.html" not in original
    assert (await _put(http, jpeg())).status_code == 200


async def test_a_compressed_body_is_refused_whatever_its_header_says(http: httpx.AsyncClient) -> None:
    for headers in ({"Content-Encoding": "gzip"}, {}):
        response = await http.post(
            "/market/put_picture",
            params={"url": "https://shop.example/1.jpg"},
            content=gzip.compress(jpeg()),
            headers={"Content-Type": "image/jpeg", **headers},
        )
        assert (response.status_code, response.json()["reason"]) == (415, "PICTURE_NOT_A_PICTURE")
        assert "gzip-compressed data, not a picture" in response.json()["detail"]
    assert (await http.get("/state", params={"url": "https://shop.example/1.jpg"})).status_code == 404


class TestWithLittleCpu:
    @pytest.fixture(autouse=True)
    def little_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Limit each picture to half a second of CPU, in the service that is started after it."""
        monkeypatch.setattr(parts, "DecodePool", partial(DecodePool, deadline_s=0.5))

    async def test_a_picture_that_burns_cpu_is_refused_with_words(
        self, little_cpu: None, http: httpx.AsyncClient, service: Service, host: PictureHost
    ) -> None:
        slow = await asyncio.to_thread(many_scans, 8000, 6000, 80)
        response = await _put(http, slow)
        assert (response.status_code, response.json()["reason"]) == (400, "PICTURE_DECODE_TIMEOUT")
        assert "longer than 0.5 s to decode. Publish a smaller or a simpler" in response.json()["detail"]
        await service.request([host.put("/slow.jpg", slow), host.put("/1.jpg", jpeg())])
        results = {result.url: result for result in await service.results(2)}
        assert results[host.url("/slow.jpg")].failure.code == "PICTURE_DECODE_TIMEOUT"
        assert results[host.url("/1.jpg")].info.width == 640


async def test_who_takes_avif_gets_it(http: httpx.AsyncClient, service: Service) -> None:
    await _namespace(service, "jpeg", "webp", "avif")
    put = await _put(http, jpeg(width=1200, height=900))
    assert put.json()["sizes"] == [{"name": "card", "width": 320, "height": 240, "formats": ["jpeg", "webp", "avif"]}]
    found, tags = {}, set()
    for accept in (
        "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
        "image/avif;q=0.5,image/webp",
        "image/avif;q=0,*/*",
        "*/*",
    ):
        response = await http.get(_address(put, "card"), headers={"Accept": accept})
        assert response.headers["vary"] == "Accept"
        image = Image.open(io.BytesIO(response.content))
        assert image.size == (320, 240)
        assert response.headers["content-type"] == f"image/{(image.format or '').lower()}"
        found[accept.partition(",")[0]] = image.format
        tags.add(response.headers["etag"])
    assert list(found.values()) == ["AVIF", "WEBP", "JPEG", "JPEG"]
    assert len(tags) == 3


async def test_more_than_the_quota_is_refused_with_what_to_do(http: httpx.AsyncClient, service: Service) -> None:
    assert (await _put(http, jpeg(1))).status_code == 200
    [(used,)] = await service.rows("SELECT sum(total_bytes)::bigint FROM stored_pictures")
    await _namespace(service, "jpeg", quota_bytes=used + 10)
    refused = await _put(http, jpeg(2), url="https://shop.example/2.jpg")
    assert (refused.status_code, refused.json()["reason"]) == (429, "PICTURE_QUOTA_EXCEEDED")
    assert f"offers has {used} of {used + 10} bytes in use" in refused.json()["detail"]
    assert refused.json()["detail"].endswith("Delete pictures, or raise its quota.")
    assert (await http.get("/state", params={"url": "https://shop.example/2.jpg"})).status_code == 404
    assert (await _put(http, jpeg(1))).status_code == 200  # a stored picture needs no further space
    await _namespace(service, "jpeg", quota_bytes=used * 10)
    assert (await _put(http, jpeg(2), url="https://shop.example/2.jpg")).status_code == 200


async def test_no_error_is_kept_by_a_cache(http: httpx.AsyncClient, service: Service) -> None:
    put = await _put(http, jpeg())
    card, original = _address(put, "card"), _address(put, "orig")
    for (name,) in await service.rows("SELECT sha256 FROM blobs"):
        await service.blobs.delete(name)
    responses = {
        "damaged": (503, await http.get(card)),
        "damaged original": (503, await http.get(original)),
        "unknown size": (404, await http.get(_address(put, "huge"))),
        "unknown picture": (404, await http.get("/get/offers/1/none/card")),
        "no address": (404, await http.get("/get/offers/word/none/card")),
        "unknown state": (404, await http.get("/state", params={"url": "none"})),
        "not a picture": (415, await _put(http, b"<html></html>")),
        "too large": (413, await _put(http, bytes((20 << 20) + 1))),
    }
    for name, (status, response) in responses.items():
        assert response.status_code == status, name
        assert response.headers.get("cache-control", "no-store") == "no-store", name
        assert not {"etag", "expires", "last-modified"} & set(response.headers), name
    for name in ("damaged", "damaged original", "unknown size", "unknown picture"):
        assert responses[name][1].headers["cache-control"] == "no-store", name
    assert responses["damaged"][1].json()["reason"] == "PICTURE_DAMAGED"
    assert responses["not a picture"][1].json()["reason"] == "PICTURE_NOT_A_PICTURE"
    assert "It is downloaded again; try later." in responses["damaged"][1].json()["detail"]


async def test_a_form_without_an_end_is_refused_at_the_limit_and_nothing_is_written(
    http: httpx.AsyncClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", None)  # the file that a large form would be written to
    host, _, port = service.http_address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        b"POST /market/put_picture?url=u HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\n\r\n"
    )
    part = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.jpg"\r\n\r\n'
    writer.write(b"%x\r\n%b\r\n" % (len(part), part))
    sent, response = 0, asyncio.ensure_future(reader.readuntil(b"\r\n"))
    while not response.done():
        writer.write(b"%x\r\n%b\r\n" % (1 << 16, bytes(1 << 16)))
        await writer.drain()
        sent += 1 << 16
        assert sent < 100 << 20
    assert b" 413 " in await response
    writer.close()
    # A body above the limit, and a client that sends endlessly before it reads.
    large = await http.post("/state", content=b" " * (6 << 20), headers={"Content-Type": "application/json"})
    assert (large.status_code, large.json()["reason"]) == (413, "BODY_TOO_LARGE")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/get/offers/" + "9" * 5000 + "/a/orig", 400),
        ("/get/offers/" + "9" * 30 + "/a/orig", 404),
        ("/get/offers/" + "9" * 18 + "/a/orig", 404),
        ("/get/off%00ers/1/a/orig", 400),
        ("/get/offers/1/" + "a" * 300 + "/orig", 404),
    ],
)
async def test_an_address_of_the_wrong_form(http: httpx.AsyncClient, path: str, status: int) -> None:
    assert (await http.get(path)).status_code == status


@pytest.mark.parametrize(
    ("shop_id", "status"), [("a%00b", 400), ("a%0d%0ab", 400), ("a" * 300, 404), ("a" * 5000, 400)]
)
async def test_a_shop_id_of_the_wrong_form(http: httpx.AsyncClient, shop_id: str, status: int) -> None:
    response = await http.post(f"/shops/{shop_id}/pictures", content=jpeg(), headers={"Content-Type": "image/jpeg"})
    assert response.status_code == status
    if status == 400:
        assert response.json()["reason"] == "REQUEST_INVALID"
