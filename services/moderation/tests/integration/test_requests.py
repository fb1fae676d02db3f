"""How a request to the verdict service ends, and what it leaves."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from classifeed_common.testing.recovery import until
from classifeed_moderation.clients.connections import Connections
from classifeed_moderation.domain.subjects import Status

from ..conftest import CLEAN, END, PEOPLE, RETRY_S, Moderation, errors, result, verdict

NEAR_S = 30.0


async def decide_one(moderation: Moderation, description: str = "pothole") -> object:
    """Create a point and return its subject once the request about it has ended."""
    moderation.start()
    point_id = await moderation.create_point(description)
    await until(lambda: bool(moderation.stand_in.requests))
    await until(lambda: not moderation.queue._known)
    return await moderation.subject(point_id)


def waits_s(subject: object) -> float:
    return (subject.next_retry - subject.started).total_seconds()


async def test_request_is_as_the_protocol_says(moderation: Moderation) -> None:
    moderation.start()
    point_id = await moderation.create_point("левый ряд занят")
    await until(lambda: bool(moderation.stand_in.requests))
    [request] = moderation.stand_in.requests
    expected = (
        '{"jsonrpc":"2.0","method":"process","params":{"service":"maps-core-jams-infopoints","type":"text","key":"'
        + str(point_id)
        + '","body":{"text":"левый ряд занят","environment":"testing","regions":[1,2,100]}},"id":1}'
    )
    assert request.body == expected.encode()
    assert request.head.startswith("POST /v2/ HTTP/1.1\r\n")
    assert "Content-Type: application/json" in request.head
    assert "X-Ya-Service-Ticket: the-token" in request.head


async def test_verdicts_at_once_are_applied(moderation: Moderation) -> None:
    moderation.stand_in.content = result(verdict("police"), END)
    subject = await decide_one(moderation)
    assert (subject.status, subject.next_retry) == (Status.APPROVED, None)
    assert [item.name for item in subject.verdicts] == ["police"]


@pytest.mark.parametrize("content", [errors(**{"clean-web": "timeout"}), errors(clean_web="timeout"), PEOPLE])
async def test_people_have_it(moderation: Moderation, content: bytes) -> None:
    moderation.stand_in.content = content
    subject = await decide_one(moderation)
    assert (subject.status, subject.verdicts) == (Status.PENDING, ())
    assert waits_s(subject) == pytest.approx(600, abs=NEAR_S)


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (200, errors(clean_web="server_error")),
        (200, errors(**{"clean-web": "timeout", "other": "timeout"})),
        (500, CLEAN),
        (200, b"no JSON"),
        (200, b"[" * 100_000),
        (200, b"[]"),
        (200, json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"verdicts": [END]}}).encode()),
        (200, json.dumps({"jsonrpc": "2.0", "id": True, "result": {"verdicts": [END]}}).encode()),
        (200, json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"}}).encode()),
        (200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"verdicts": {}}}).encode()),
        (200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"verdicts": [{"name": 5}]}}).encode()),
        (200, b" " * (1 << 21)),
    ],
)
async def test_fault_leaves_the_text(moderation: Moderation, status: int, content: bytes) -> None:
    moderation.stand_in.status, moderation.stand_in.content = status, content
    subject = await decide_one(moderation)
    assert (subject.status, subject.verdicts) == (Status.PENDING, ())
    assert waits_s(subject) == pytest.approx(RETRY_S, abs=1)


async def test_unreachable_leaves_the_text(moderation: Moderation) -> None:
    moderation.stand_in.port = 1
    moderation.service._connections = Connections(moderation.stand_in.url + "/v2/", limit_bytes=1000)
    moderation.start()
    point_id = await moderation.create_point()
    await until(lambda: not moderation.queue._known)
    subject = await moderation.subject(point_id)
    assert subject.status is Status.PENDING
    assert subject.next_retry - subject.started == pytest.approx(timedelta(seconds=RETRY_S), abs=timedelta(seconds=1))


async def test_response_that_does_not_come_leaves_the_text(make_moderation: object) -> None:
    moderation = await make_moderation(answer_s=0.3)
    moderation.stand_in.released.clear()
    subject = await decide_one(moderation)
    assert subject.status is Status.PENDING
    assert waits_s(subject) == pytest.approx(RETRY_S, abs=1)
