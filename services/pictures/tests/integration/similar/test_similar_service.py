"""ListSimilar in a running service: copies of uploaded pictures, by namespace, by URLs, page by page."""

from __future__ import annotations

import grpc.aio
import numpy as np
import pytest
from libs.imaging.tests.samples.drawings import recompressed, saved, shapes, texture
from PIL import Image

from classifeed.pictures.v1.picture_service_pb2 import (
    ListSimilarRequest,
    ListSimilarResponse,
    PutPictureRequest,
    RequestPicturesRequest,
)
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.recovery import until

from ..conftest import Service

ORIGINAL = "https://shop.example/flat.jpg"


async def put(service: Service, url: str, image: Image.Image, namespace: str = "offers") -> None:
    request = PutPictureRequest(url=url, namespace=namespace, data=saved(image, "JPEG", quality=90))
    await service.pictures.PutPicture(iter([request]))


async def similar(service: Service, url: str = ORIGINAL, **fields: object) -> ListSimilarResponse:
    request = ListSimilarRequest(url=url, **fields)  # type: ignore[arg-type]
    response: ListSimilarResponse = await service.pictures.ListSimilar(request)
    return response


def urls_of(response: ListSimilarResponse) -> list[str]:
    return [each.url for each in response.pictures]


async def test_copies_are_listed_and_nothing_else(service: Service) -> None:
    random = np.random.default_rng(1)
    flat = texture(random)
    await put(service, ORIGINAL, flat)
    await put(service, ORIGINAL, flat, "shops")
    copies = {f"https://shop.example/copy-{number}.jpg" for number in range(5)}
    for number, url in enumerate(sorted(copies)):
        copy = recompressed(flat.resize((400 - 20 * number, 300)), 70)
        await put(service, url, copy, "shops" if number == 0 else "offers")
    await put(service, "https://shop.example/other.jpg", shapes(random))
    found = await similar(service)
    assert set(urls_of(found)) == copies
    assert [each.distance for each in found.pictures] == sorted(each.distance for each in found.pictures)
    assert found.compared.width == 480
    assert all(each.picture.name and each.picture.perceptual_hash for each in found.pictures)
    of_shops = await similar(service, namespace="shops")
    assert urls_of(of_shops) == ["https://shop.example/copy-0.jpg"]
    assert of_shops.compared.namespace == "shops"
    some = sorted(copies)[1:3]
    written = [some[0].replace("https", "HTTPS"), some[1], "https://shop.example/other.jpg"]
    assert set(urls_of(await similar(service, urls=written))) == set(some)
    assert urls_of(await similar(service, url="https://shop.example/other.jpg")) == []
    pages: list[list[str]] = []
    token = ""
    while not pages or token:
        page = await similar(service, page_size=2, page_token=token)
        pages.append(urls_of(page))
        token = page.next_page_token
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [url for page in pages for url in page] == urls_of(found)


def cupboard(colour: tuple[int, int, int]) -> Image.Image:
    """Draw a symmetrical cupboard."""
    image = Image.new("RGB", (480, 360), (232, 228, 217))
    image.paste((168, 191, 134), (0, 270, 480, 360))
    image.paste(colour, (150, 60, 330, 300))
    return image


async def test_a_drawing_is_found_in_its_colours_alone(service: Service) -> None:
    drawing = cupboard((140, 50, 40))
    await put(service, ORIGINAL, drawing)
    copies = {"small": drawing.resize((211, 157)), "cropped": drawing.crop((9, 2, 474, 356))}
    for url, copy in copies.items():
        await put(service, url, recompressed(copy, 70))
    await put(service, "of the same brightness", cupboard((30, 73, 170)))
    assert set(urls_of(await similar(service))) == set(copies)


async def test_the_distance_is_bounded(service: Service) -> None:
    flat = texture(np.random.default_rng(2))
    for url, image in ((ORIGINAL, flat), ("same", flat), ("cropped", flat.crop((9, 7, 471, 353)))):
        await put(service, url, image)
    exact = await similar(service, max_distance=0)
    assert [(each.url, each.distance) for each in exact.pictures] == [("same", 0)]
    assert set(urls_of(await similar(service))) == {"same", "cropped"}
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await similar(service, max_distance=12)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_what_cannot_be_compared_is_refused_in_words(service: Service) -> None:
    await put(service, "plain", Image.new("RGB", (300, 200), (10, 120, 30)))
    await put(service, "plain too", Image.new("RGB", (300, 200), (200, 20, 30)))
    await put(service, ORIGINAL, texture(np.random.default_rng(3)))
    missing = "http://127.0.0.1:1/none.jpg"
    await service.pictures.RequestPictures(RequestPicturesRequest(urls=[missing], namespace="offers"))

    async def is_known() -> bool:
        return bool(await service.rows("SELECT 1 FROM pictures WHERE url = %s", missing))

    await until(is_known)
    for fields, reason in (
        ({"url": "https://shop.example/none.jpg"}, "PICTURE_UNKNOWN"),
        ({"url": missing}, "NO_PICTURE_TO_COMPARE"),
        ({"url": "plain"}, "PICTURE_TOO_PLAIN"),
        ({"page_token": "b2RkL29mZmVycy8xL2E="}, "PAGE_TOKEN_INVALID"),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await similar(service, **fields)
        assert from_rpc_error(raised.value).reason == reason
    assert urls_of(await similar(service)) == []
