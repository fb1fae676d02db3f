"""The HTTP API for clients: states, uploads, and the pictures themselves."""

from __future__ import annotations

import io
import json

import httpx
import pytest
from PIL import Image

from classifeed.pictures.v1.picture_pb2 import PictureState, PictureStateBatch
from classifeed_devkit.testing.recovery import until

from ..conftest import Service
from ..picture_host import PictureHost, jpeg


async def _put(http: httpx.AsyncClient, number: int = 1, url: str = "https://shop.example/1.jpg") -> dict[str, object]:
    response = await http.post(
        "/market/put_picture",
        params={"url": url},
        content=jpeg(number, width=1200, height=900),
        headers={"Content-Type": "image/jpeg"},
    )
    assert response.status_code == 200, response.text
    info: dict[str, object] = response.json()
    return info


def _address(info: dict[str, object], size: str) -> str:
    return f"/get/{info['namespace']}/{info['group_id']}/{info['name']}/{size}"


async def test_a_picture_that_is_put_is_known_and_can_be_had(http: httpx.AsyncClient) -> None:
    info = await _put(http)
    assert {"namespace", "group_id", "name", "sizes", "etag"} <= set(info)
    state = (await http.get("/state", params={"url": "HTTPS://shop.example:443/1.jpg"})).json()
    assert state["pictures"][0]["name"] == info["name"]
    assert state["put"] is True
    assert (await _put(http))["name"] == info["name"]


async def test_each_client_gets_the_format_that_it_takes(http: httpx.AsyncClient) -> None:
    info = await _put(http)
    responses = {
        accept: await http.get(_address(info, "card"), headers={"Accept": accept})
        for accept in ("image/webp,image/*", "image/jpeg", "*/*", "image/webp;q=0, image/*", "image/avif,image/webp")
    }
    types = {accept: response.headers["content-type"] for accept, response in responses.items()}
    assert types == {
        "image/webp,image/*": "image/webp",
        "image/jpeg": "image/jpeg",
        "*/*": "image/jpeg",
        "image/webp;q=0, image/*": "image/jpeg",
        "image/avif,image/webp": "image/webp",
    }
    for response in responses.values():
        assert response.headers["vary"] == "Accept"
        assert "immutable" in response.headers["cache-control"]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert max(Image.open(io.BytesIO(response.content)).size) == 320
    tags = {response.headers["etag"] for response in responses.values()}
    assert len(tags) == 2


async def test_pages_of_other_sites_show_pictures_and_read_nothing_else(http: httpx.AsyncClient) -> None:
    info = await _put(http)
    tag = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
    for size in ("card", "orig"):
        assert (await http.get(_address(info, size), headers=tag)).status_code == 200
    state = await http.get("/state", params={"url": "https://shop.example/1.jpg"}, headers=tag)
    assert (state.status_code, state.json()["reason"]) == (403, "ORIGIN_NOT_ALLOWED")


async def test_what_a_client_has_is_not_sent_again(http: httpx.AsyncClient) -> None:
    info = await _put(http)
    first = await http.get(_address(info, "card"))
    again = await http.get(_address(info, "card"), headers={"If-None-Match": f'W/{first.headers["etag"]}, "x"'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    other = await http.get(_address(info, "card"), headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


async def test_an_error_is_never_kept_by_a_cache(http: httpx.AsyncClient) -> None:
    info = await _put(http)
    for path in (
        _address(info, "huge"),
        _address({**info, "name": "0"}, "card"),
        _address({**info, "group_id": 1}, "orig"),
    ):
        response = await http.get(path)
        assert response.status_code == 404
        assert response.headers["cache-control"] == "no-store"
    assert "Sizes are: card, large, small, orig" in (await http.get(_address(info, "huge"))).json()["detail"]


async def test_the_original_has_no_metadata(http: httpx.AsyncClient) -> None:
    image = Image.open(io.BytesIO(jpeg()))
    exif = Image.Exif()
    exif[0x010F] = "Maker"
    exif.get_ifd(0x8825)[1] = "N"
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", exif=exif, comment=b"Ann's flat")
    response = await http.post(
        "/market/put_picture", params={"url": "gps"}, content=buffer.getvalue(), headers={"Content-Type": "image/jpeg"}
    )
    original = await http.get(_address(response.json(), "orig"))
    assert original.headers["content-type"] == "image/jpeg"
    assert b"Ann's flat" not in original.content
    assert b"Maker" not in original.content
    assert not Image.open(io.BytesIO(original.content)).getexif().get_ifd(0x8825)
    assert "vary" not in original.headers


async def test_a_shop_puts_raw_or_in_a_form_and_the_same_bytes_are_the_same_picture(http: httpx.AsyncClient) -> None:
    data = jpeg(3)
    raw = await http.post("/shops/17/pictures", content=data, headers={"Content-Type": "image/jpeg"})
    form = await http.post("/shops/17/pictures", files={"picture": ("a.jpg", data, "image/jpeg")})
    assert raw.json() == form.json()
    assert raw.json()["namespace"] == "shops"
    other = await http.post("/shops/18/pictures", content=data, headers={"Content-Type": "image/jpeg"})
    assert other.json()["name"] != raw.json()["name"]


async def test_what_is_no_picture_is_refused_with_words(http: httpx.AsyncClient) -> None:
    page = await http.post(
        "/market/put_picture", params={"url": "u"}, content=b"<html></html>", headers={"Content-Type": "image/jpeg"}
    )
    assert (page.status_code, page.json()["reason"]) == (415, "PICTURE_NOT_A_PICTURE")
    large = await http.post(
        "/market/put_picture",
        params={"url": "u"},
        content=bytes((20 << 20) + 1),
        headers={"Content-Type": "image/jpeg"},
    )
    assert large.status_code == 413
    assert "20 MiB" in large.json()["detail"]
    form = await http.post("/shops/1/pictures", files={"picture": ("a.jpg", bytes(21 << 20), "image/jpeg")})
    assert form.status_code == 413
    empty = await http.post(
        "/shops/1/pictures", data={"a": "b"}, headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert empty.status_code == 400
    assert (await http.post("/market/put_picture", content=jpeg())).status_code == 400


async def test_a_form_of_another_site_is_refused(http: httpx.AsyncClient) -> None:
    response = await http.post(
        "/shops/1/pictures",
        files={"picture": ("a.jpg", jpeg(), "image/jpeg")},
        headers={"Origin": "https://other.example"},
    )
    assert (response.status_code, response.json()["reason"]) == (403, "ORIGIN_NOT_ALLOWED")


async def test_states_keep_the_order_and_mark_what_is_unknown(http: httpx.AsyncClient) -> None:
    await _put(http, 1, "https://shop.example/1.jpg")
    await _put(http, 2, "https://shop.example/2.jpg")
    urls = ["https://shop.example/2.jpg", "https://shop.example/none.jpg", "https://shop.example/1.jpg"]
    states = (await http.post("/state", json=urls)).json()["states"]
    assert [state["url"] for state in states] == urls
    assert [state.get("known", False) for state in states] == [True, False, True]
    unknown = await http.get("/state", params={"url": urls[1]})
    assert (unknown.status_code, unknown.json()["reason"]) == (404, "PICTURE_UNKNOWN")


async def test_states_as_messages_and_in_parts(http: httpx.AsyncClient) -> None:
    await _put(http)
    url = "https://shop.example/1.jpg"
    one = await http.get("/state", params={"url": url, "format": "protobuf"})
    assert PictureState.FromString(one.content).put
    many = await http.post("/state", params={"format": "protobuf", "ff": "url,known"}, json=[url, "none"])
    [first, second] = PictureStateBatch.FromString(many.content).states
    assert (first.url, first.known, list(first.pictures), second.known) == (url, True, [], False)
    parts = await http.get("/state", params={"url": url, "ff": "pictures"})
    assert list(parts.json()) == ["pictures"]
    wrong = await http.get("/state", params={"url": url, "ff": "pictures,colour"})
    assert wrong.status_code == 400
    assert "'colour'" in wrong.json()["detail"]
    assert (await http.get("/state", params={"url": url, "format": "xml"})).status_code == 400


@pytest.mark.parametrize(
    "body", ["{}", "[1]", '["a", ""]', "[", json.dumps(["u"] * 1001), "[" * 100_000, '["\\u0000"]']
)
async def test_a_wrong_list_is_refused(http: httpx.AsyncClient, body: str) -> None:
    response = await http.post("/state", content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["reason"]) == (400, "REQUEST_INVALID")


async def test_what_was_deleted_is_not_found_after_a_while(
    http: httpx.AsyncClient, service: Service, host: PictureHost
) -> None:
    info = await _put(http)
    assert (await http.get(_address(info, "small"))).status_code == 200
    await service.rows("DELETE FROM stored_pictures RETURNING 1")

    async def is_gone() -> bool:
        return (await http.get(_address(info, "small"))).status_code == 404

    await until(is_gone)
