"""No request of moderation blocks the event loop: neither the largest accepted requests, nor refused bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.message import Message

from classifeed.points.v1.point_pb2 import Location
from classifeed_devkit.testing.measuring.event_loop import (
    hold_of_request,
    holds_of_routes,
    holds_of_rpcs,
    large_bodies,
    too_long,
)
from classifeed_domain.policy import POLICY
from classifeed_moderation.http import callback

from .conftest import PATH, TOKEN, Service

pytestmark = pytest.mark.kafka
BODY_BYTES = 1 << 20


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(callback, "CALLBACKS_S", 10_000)
    return {}


def span(number: int) -> dict[str, Any]:
    return {"start": number, "end": number + 1, "excerpt": "e" * 20, "rule": "r"}


@pytest.mark.timeout(600)
async def test_no_request_holds_the_event_loop(service: Service) -> None:
    point = (await service.create()).removeprefix("points/")
    texts = [f"offer/s/n/{number}" for number in range(9_900)]
    bodies = {
        "keys": [{"name": "v", "key": key} for key in texts],
        "verdicts of a key": [{"name": f"v{number % 100}", "key": point} for number in range(9_900)],
        "spans": [
            {"name": f"v{number % 100}", "key": texts[number // 100], "spans": [span(n) for n in range(20)]}
            for number in range(240)
        ],
        "reviewers": [{"name": "v", "key": point, "reviewers": ["r" * 100] * 20} for _ in range(400)],
    }
    contents = {name: json.dumps({"verdicts": body}).encode() for name, body in bodies.items()}
    assert max(map(len, contents.values())) < BODY_BYTES
    contents["names of a key"] = json.dumps(
        {"verdicts": [{"name": f"v{n}", "key": point} for n in range(9_900)]}
    ).encode()
    contents |= dict(large_bodies(BODY_BYTES, "verdicts"))
    address = service.http.base_url.netloc.decode()
    headers = {"Content-Type": "application/json", TOKEN: service.keys.issue("cleanweb", "moderation")}
    found: dict[str, tuple[float, object]] = {}
    for name, content in contents.items():
        request = {"method": "POST", "url": PATH, "content": content, "headers": headers}
        found[name] = await hold_of_request(address, request)
    token = {TOKEN: headers[TOKEN]}
    found |= await holds_of_routes(address, service.http_app, size_bytes=BODY_BYTES, headers=token)
    assert {name: found[name] for name in bodies if found[name][1] != 200} == {}
    place: dict[str, Message] = {"south_west": Location(latitude=0), "north_east": Location(latitude=1)}
    found |= await holds_of_rpcs(
        service.grpc_address,
        ["classifeed.moderation.v1.ModerationService", "classifeed.points.v1.PointService"],
        POLICY,
        texts={"letters": lambda chars: "й" * chars},
        values={**place, "tags": ["police"], "location": Location(latitude=1, longitude=2)},
        token=lambda: service.keys.issue("service", "moderation"),
    )
    assert too_long(found) == {}
