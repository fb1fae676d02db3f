"""No request of cleanweb blocks the event loop: neither the largest accepted requests, nor refused bodies."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from classifeed_cleanweb.http import requests as requests_module
from classifeed_common.auth import ALL_OWNERS, create_team_token
from classifeed_common.http.api.request_limits import RequestRate
from classifeed_common.http.pages import guarding
from classifeed_devkit.testing.measuring.event_loop import (
    hold_of_request,
    holds_of_routes,
    holds_of_rpcs,
    large_bodies,
    too_long,
)
from classifeed_domain.policy import POLICY

from ..conftest import Cleanweb, Start, request_of

RATE: Final = RequestRate(per_s=10_000, burst=10_000)
# Kinds of texts by the search that they exercise: words, masked words, addresses.
TEXTS: Final[dict[str, Callable[[int], str]]] = {
    name: lambda chars, piece=piece: (piece * chars)[:chars]  # type: ignore[misc]
    for name, piece in {
        "words": "хуй ",
        "masks": "х*й ",
        "links": "a.b.com ",
    }.items()
}
LONGEST_TEXT: Final = 200_000
MANY: Final = ("masks",)
BODY_BYTES: Final = 2 << 20


@pytest.mark.timeout(600)
async def test_no_rpc_holds_the_event_loop(start: Start) -> None:
    cleanweb = await start()
    found = await holds_of_rpcs(
        cleanweb.grpc_address,
        ["classifeed.cleanweb.v1.CleanwebService"],
        POLICY,
        texts={"masks": TEXTS["masks"]},
        values={"service": "classifeed", "environment": "testing", "project": "common_toloka"},
        token=lambda: cleanweb.keys.issue("service", "cleanweb"),
    )
    assert too_long(found) == {}


@pytest.mark.timeout(600)
async def test_no_route_holds_the_event_loop(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarding, "_RATE", RATE)
    monkeypatch.setattr(requests_module, "REQUESTS_S", 10_000)
    cleanweb = await start()
    requests = {name: post(cleanweb, "/v2/", body) for name, body in bodies().items()}
    cookie = {"Cookie": cookie_of(cleanweb)}
    requests["review page"] = {"method": "GET", "url": "/reviews/common_toloka", "headers": cookie}
    address = cleanweb.http.base_url.netloc.decode()
    found = {name: await hold_of_request(address, request) for name, request in requests.items()}
    for size_bytes in (16 << 10, BODY_BYTES):
        routes = await holds_of_routes(address, cleanweb.http_app, size_bytes=size_bytes, headers=cookie)
        found |= {f"{name}, {size_bytes} bytes": took for name, took in routes.items()}
    assert {name: status for name, (_, status) in found.items() if status >= 500} == {}
    assert too_long(found) == {}
    assert {name for name, (_, status) in found.items() if status == 200} >= {"one, links", "many, masks", "closed"}


def bodies() -> dict[str, bytes]:
    """Return bodies to judge: one long text of each kind, a hundred texts that fill a body, closes."""
    found: dict[str, bytes] = {}
    for kind, text in TEXTS.items():
        found[f"one, {kind}"] = json.dumps(request_of(text(LONGEST_TEXT)), ensure_ascii=False).encode()
        if kind not in MANY:
            continue
        chars = 18_000 * len(text(1000)) // len(text(1000).encode())
        many = [request_of(text(chars - number), f"k{number}", number=number) for number in range(100)]
        found[f"many, {kind}"] = json.dumps(many, ensure_ascii=False).encode()
    closes = [
        {"jsonrpc": "2.0", "method": "close", "id": number, "params": {
            "service": "classifeed", "type": "text", "key": f"{number}".ljust(2048, "k"),
            "body": {"environment": "testing"},
        }}
        for number in range(100)
    ]  # fmt: skip
    found["closed"] = json.dumps(closes).encode()
    for name, body in large_bodies(BODY_BYTES, "params", "id"):
        found[f"wrong, {name}"] = body
    return found


def post(cleanweb: Cleanweb, path: str, content: bytes) -> dict[str, Any]:
    headers = {
        "Content-Type": "application/json",
        "X-Ya-Service-Ticket": cleanweb.keys.issue("moderation", "cleanweb"),
        "Cookie": cookie_of(cleanweb),
    }
    return {"method": "POST", "url": path, "content": content, "headers": headers}


def cookie_of(cleanweb: Cleanweb) -> str:
    methods = ("CleanwebService/ClaimReview", "CleanwebService/SubmitOpinion")
    token, _ = create_team_token(cleanweb.keys.directory, "anna", methods, 3600, owners=[ALL_OWNERS], policy=POLICY)
    return f"classifeed_reviewer={token}"
