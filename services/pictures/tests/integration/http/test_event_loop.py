"""No request blocks the event loop: neither the largest accepted nor the largest refused one of each route and RPC."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from PIL import Image

from buf.validate import validate_pb2
from classifeed.pictures.v1 import picture_service_pb2
from classifeed_devkit.testing.measuring.event_loop import (
    LONGEST_S,
    hold_of_call,
    hold_of_request,
    holds_of_routes,
    large_bodies,
    too_long,
)
from classifeed_pictures.domain.urls.canonical import URL_LIMIT_CHARS
from classifeed_pictures.domain.urls.sizes import URLS_LIMIT_BYTES

from ..conftest import Service

SERVICE = picture_service_pb2.DESCRIPTOR.services_by_name["PictureService"]
URLS = 1000
# The slowest text of each kind: escapes, characters to encode, parameters, labels of a host.
KINDS: dict[str, Callable[[int], str]] = {
    "escapes": lambda chars: f"http://a.example/{'%zz' * chars}"[:chars],
    "percent signs": lambda chars: f"http://a.example/{'%' * chars}"[:chars],
    "parameters": lambda chars: f"http://a.example/?{'&' * chars}"[:chars],
    "labels": lambda chars: f"http://{'☃.' * min(chars // 2 - 10, 120)}example/".ljust(chars, "a")[:chars],
    "key": lambda chars: "k" * chars,
}


def largest(method: MethodDescriptor, url: Callable[[int], str], chars: int) -> Message:
    """Return the request with as many items and as long texts as the proto allows; URLs have up to `chars`."""
    request = GetMessageClass(method.input_type)()
    for field in method.input_type.fields:
        rules: Any = field.GetOptions().Extensions[validate_pb2.field]  # type: ignore[index]
        if field.type != FieldDescriptor.TYPE_STRING:
            continue
        if field.is_repeated:
            items = rules.repeated
            text = url(min(chars, items.items.string.max_len))
            getattr(request, field.name).extend([f"{text[:-4]}{number:04}" for number in range(items.max_items)])
        elif field.name == "url":
            setattr(request, field.name, url(rules.string.max_len))
        elif field.name == "namespace":
            setattr(request, field.name, "offers")
    return request


def pieces_of(picture: bytes) -> Iterator[bytes]:
    first = {"url": "large", "namespace": "offers"}
    for begin in range(0, len(picture), 1 << 20):
        request = picture_service_pb2.PutPictureRequest(data=picture[begin : begin + (1 << 20)], **first)
        first = {}
        yield request.SerializeToString()


def noise() -> bytes:
    """Return a picture of nearly the maximum size."""
    buffer = io.BytesIO()
    Image.frombytes("RGB", (2600, 2600), os.urandom(2600 * 2600 * 3)).save(buffer, "PNG", compress_level=0)
    return buffer.getvalue()


@pytest.mark.timeout(600)
async def test_no_rpc_holds_the_event_loop(service: Service) -> None:
    found: dict[str, tuple[float, str]] = {}
    picture = noise()
    for method in SERVICE.methods:
        if method.client_streaming:
            cases = {"picture": list(pieces_of(picture))}
        else:
            cases = {
                f"{kind}, {chars}": [largest(method, url, chars).SerializeToString()]
                for kind, url in KINDS.items()
                for chars in (URLS_LIMIT_BYTES // URLS, URL_LIMIT_CHARS)
            }
            cases = {name: sent for name, sent in cases.items() if sent[0]} or {"empty": [b""]}
        for name, requests in cases.items():
            path = f"/{SERVICE.full_name}/{method.name}"
            found[f"{method.name} ({name})"] = await hold_of_call(
                service.grpc_address, path, requests, streams=method.client_streaming
            )
    assert {code for _, code in found.values()} <= {"OK", "NOT_FOUND", "INVALID_ARGUMENT", "FAILED_PRECONDITION"}
    assert too_long(found) == {}


@pytest.mark.timeout(600)
async def test_no_route_holds_the_event_loop(http: httpx.AsyncClient, service: Service) -> None:
    picture = noise()
    json_type = {"Content-Type": "application/json"}
    requests: dict[str, dict[str, Any]] = {
        "put": {
            "method": "POST", "url": "/market/put_picture?url=u", "content": picture,
            "headers": {"Content-Type": "image/png"},
        },
        "form": {"method": "POST", "url": "/shops/1/pictures", "files": {"f": ("a.png", picture, "image/png")}},
        "too large": {"method": "POST", "url": "/state", "content": b" " * (6 << 20), "headers": json_type},
    }  # fmt: skip
    for kind, url in KINDS.items():
        requests[f"one, {kind}"] = {"method": "GET", "url": "/state", "params": {"url": url(URL_LIMIT_CHARS)}}
        for chars in (URLS_LIMIT_BYTES // URLS - 8, URL_LIMIT_CHARS):
            urls = [f"{url(chars)[:-4]}{number:04}" for number in range(URLS)]
            content = json.dumps(urls, ensure_ascii=False).encode()
            requests[f"states, {kind}, {chars}"] = {
                "method": "POST", "url": "/state", "content": content, "headers": json_type,
            }  # fmt: skip
    found: dict[str, tuple[float, int]] = {}

    requests |= {
        f"wrong, {name}": {"method": "POST", "url": "/state", "content": body, "headers": json_type}
        for name, body in large_bodies(5 << 20)
    }
    for name, request in requests.items():
        found[name] = await hold_of_request(service.http_address, request)
    found |= await holds_of_routes(service.http_address, service.http_app, size_bytes=5 << 20)
    assert {name: status for name, (_, status) in found.items() if status not in {200, 400, 404, 413, 415}} == {}
    assert too_long(found) == {}
    info = (await http.get("/state", params={"url": "u"})).json()["pictures"][0]
    path = f"/get/{info['namespace']}/{info['group_id']}/{info['name']}"
    for size in ("orig", "large"):
        took_s, status = await hold_of_request(service.http_address, {"method": "GET", "url": f"{path}/{size}"})
        assert status == 200
        assert took_s < LONGEST_S
