"""Outcomes of requests to the verdict service, and their effects."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest

from classifeed_common.auth import KeyStore
from classifeed_common.clock import SystemClock
from classifeed_common.faults import lasting
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.app.points.comment_point import comment_point
from classifeed_moderation.clients.configured import verdict_service_of
from classifeed_moderation.clients.connections import Connections
from classifeed_moderation.clients.verdict_service import HttpVerdictService, request_body
from classifeed_moderation.domain.decisions import Subject
from classifeed_moderation.domain.points import Author, AuthorRole
from classifeed_moderation.domain.subjects import Kind, Status, Task
from classifeed_moderation.domain.verdicts import Span
from classifeed_moderation.settings import ModerationSettings

from ...conftest import CLEAN, END, PEOPLE, RETRY_S, MakeModeration, Moderation, errors, result, verdict

NEAR_S = 30.0


async def decide_one(moderation: Moderation, description: str = "pothole") -> Subject:
    """Create a point and return its subject once its request has ended; `started` must not change."""
    point_id = await moderation.create_point(description)
    before = await moderation.subject(point_id)
    moderation.start()
    await until(lambda: bool(moderation.stand_in.requests))
    await until(lambda: not moderation.queue._known)
    subject = await moderation.subject(point_id)
    assert subject.started == before.started
    return subject


def waits_s(subject: Subject) -> float:
    assert subject.next_retry is not None
    return (subject.next_retry - subject.started).total_seconds()


async def test_verdicts_that_do_not_come_are_named_until_they_do(
    moderation: Moderation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasting, "_NAMED_AFTER_S", 0.0)
    moderation.stand_in.content = errors(clean_web="server_error")
    await decide_one(moderation)
    words = moderation.judge.blocked()["verdicts"]
    assert re.search(
        r"requesting verdicts has failed for \d+ s, once: RequestFailed: errors clean_web: server_error\.", words
    ), words
    moderation.stand_in.content = PEOPLE
    await moderation.create_point("another pothole")
    await until(lambda: not moderation.judge.blocked())


async def test_verdicts_that_cannot_be_recorded_are_named_until_they_can(
    moderation: Moderation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasting, "_NAMED_AFTER_S", 0.0)
    async with moderation.database.connection() as connection:
        await connection.execute("ALTER TABLE decisions RENAME TO away")
        await decide_one(moderation)
        assert 'relation "decisions" does not exist' in moderation.judge.blocked()["decisions"]
        await connection.execute("ALTER TABLE away RENAME TO decisions")
    await moderation.create_point("another pothole")
    await until(lambda: not moderation.judge.blocked())


async def test_verdicts_are_recorded_after_a_restart_of_the_database_without_another_request(
    moderation: Moderation,
) -> None:
    point_id = await moderation.create_point("pothole")
    async with moderation.database.dedicated_connection() as other:
        await other.execute("BEGIN")
        await other.execute("LOCK TABLE decisions IN ACCESS EXCLUSIVE MODE")
        moderation.start()

        async def is_ended() -> bool:
            cursor = await other.execute(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_locks WHERE NOT granted"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
            return cursor.rowcount > 0

        await until(is_ended)
        await other.execute("COMMIT")

    async def is_decided() -> bool:
        return (await moderation.subject(point_id)).status is Status.APPROVED

    await until(is_decided, RETRY_S / 2)
    assert len(moderation.stand_in.requests) == 1


async def test_request_is_as_the_protocol_says(moderation: Moderation) -> None:
    moderation.stand_in.content = PEOPLE
    point_id = await moderation.create_point("левый ряд занят")
    moderation.start()
    author = Author("somebody", AuthorRole.USER)
    for text in ("hm", 'a "quoted"\nline'):
        await comment_point(
            moderation.database, moderation.store_texts, point_id=point_id, author=author, text=text, request_id=text
        )
    await until(lambda: len(moderation.stand_in.requests) == 3)
    expected = [
        '{"jsonrpc":"2.0","method":"process","params":{"service":"maps-core-jams-infopoints","type":"text","key":"'
        f'{key}","body":{{"text":"{text}","environment":"testing","regions":[1,2,100]}}}},"id":1}}'
        for key, text in (
            (point_id, "левый ряд занят"),
            (f"{point_id}/0", "hm"),
            (f"{point_id}/1", 'a \\"quoted\\"\\nline'),
        )
    ]
    assert sorted(request.body.decode() for request in moderation.stand_in.requests) == sorted(expected)
    for request in moderation.stand_in.requests:
        line, *headers = request.head.rstrip().split("\r\n")
        assert line == "POST /v2/ HTTP/1.1"
        assert sorted(headers) == [
            f"Content-Length: {len(request.body)}",
            "Content-Type: application/json",
            f"Host: 127.0.0.1:{moderation.stand_in.port}",
            "X-Ya-Service-Ticket: the-token",
        ]


async def test_environment_and_service_are_those_of_the_settings(keys: KeyStore) -> None:
    task = Task("key", Kind.POINT, "text", b"", ())
    settings = ModerationSettings(
        dsn="postgresql://127.0.0.1:1/none", verdict_service="me", verdict_environment="stable"
    )
    service = verdict_service_of(settings, SystemClock(), keys)
    assert isinstance(service, HttpVerdictService)
    assert (service._service, service._environment) == ("me", "stable")
    params = json.loads(request_body([task], service="me", environment="stable"))["params"]
    assert params == {
        "service": "me",
        "type": "text",
        "key": "key",
        "body": {"text": "text", "environment": "stable", "regions": []},
    }


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
        (200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"verdicts": [{"name": "\ud800"}, END]}}).encode()),
        (200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"verdicts": [{"name": "a\0"}, END]}}).encode()),
        (200, json.dumps({"jsonrpc": "2.0", "id": 1, "result": None}).encode()),
        (200, json.dumps({"jsonrpc": "2.0", "id": 1}).encode()),
        (201, CLEAN),
        (302, CLEAN),
        (401, b"{}"),
        (429, PEOPLE),
        (200, b" " * (1 << 21)),
    ],
)
async def test_fault_leaves_the_text(moderation: Moderation, status: int, content: bytes) -> None:
    moderation.stand_in.status, moderation.stand_in.content = status, content
    subject = await decide_one(moderation)
    assert (subject.status, subject.verdicts) == (Status.PENDING, ())
    assert waits_s(subject) == pytest.approx(RETRY_S, abs=1)


async def test_evidence_that_cannot_be_stored_is_left_out(moderation: Moderation) -> None:
    spans = [{"start": 0, "end": 3, "excerpt": "po\ud800\0t"}]
    moderation.stand_in.content = result(verdict("police", source="a\udfffb", spans=spans), END)
    subject = await decide_one(moderation)
    [found] = subject.verdicts
    assert (subject.status, found.source, found.spans) == (Status.APPROVED, "ab", (Span(0, 3, "pot"),))


async def test_unreachable_leaves_the_text(moderation: Moderation) -> None:
    moderation.stand_in.port = 1
    moderation.service._connections = Connections(moderation.stand_in.url + "/v2/", limit_bytes=1000)
    moderation.start()
    point_id = await moderation.create_point()
    await until(lambda: not moderation.queue._known)
    subject = await moderation.subject(point_id)
    assert subject.status is Status.PENDING
    assert subject.next_retry is not None
    assert subject.next_retry - subject.started == pytest.approx(timedelta(seconds=RETRY_S), abs=timedelta(seconds=1))


async def test_response_that_does_not_come_leaves_the_text(make_moderation: MakeModeration) -> None:
    moderation = await make_moderation(answer_s=0.3)
    moderation.stand_in.released.clear()
    subject = await decide_one(moderation)
    assert subject.status is Status.PENDING
    assert waits_s(subject) == pytest.approx(RETRY_S, abs=1)
