"""The callback of the verdict service over HTTP: permissions, contents and effects."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import jwt
import pytest
from prometheus_client import REGISTRY

from classifeed.points.v1.point_service_pb2 import GetPointRequest, VoteRequest
from classifeed_common.auth import KeyStore, write_keys
from classifeed_common.auth.keys import read_private_key, read_public_keys
from classifeed_common.runner import Role, ServiceRunner
from classifeed_common.runner.listening import ListenError
from classifeed_devkit.testing.http import loopback_client
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.rpc import settings_for
from classifeed_domain.policy import POLICY
from classifeed_moderation.bootstrap import build
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.http.callback import callback_routes
from classifeed_moderation.metrics import ABNORMAL, IGNORED, UNKNOWN_VERDICTS
from classifeed_moderation.settings import ModerationSettings

from ...conftest import CLEAN, END, PEOPLE, Moderation, verdict
from ..conftest import PATH, TOKEN, Service

BAD = "text_toloka_obscene"
SENDER, AUDIENCE = "cleanweb", "moderation"
_TABLES = ("points", "subjects", "decisions", "outbox")


def refused(reason: str, api: str = "verdict-callback") -> float:
    """Return the number of requests that were refused for a reason."""
    return REGISTRY.get_sample_value("classifeed_http_refusals_total", {"api": api, "reason": reason}) or 0.0


def assert_refused(response: httpx.Response, status: int, reason: str, what: object = "") -> None:
    assert (response.status_code, response.json()["reason"]) == (status, reason), (what, response.text)


async def contents(service: Service) -> list[list[tuple[Any, ...]]]:
    """Return all rows that a callback could change."""
    return [await service.rows(f"TABLE {table}") for table in _TABLES]


def claims(**changed: object) -> dict[str, object]:
    now = int(time.time())
    right = {"iss": SENDER, "sub": SENDER, "aud": AUDIENCE, "iat": now, "exp": now + 100, "jti": uuid4().hex}
    return right | changed


def own_kid(keys: KeyStore) -> str:
    return read_private_key(keys.directory, SENDER)[0]


def sign(keys: KeyStore, owner: str, **changed: object) -> str:
    kid, key = read_private_key(keys.directory, owner)
    return jwt.encode(claims(**changed), key, algorithm="EdDSA", headers={"kid": kid})


def unsigned(keys: KeyStore, _: Path) -> str:
    return jwt.encode(claims(), "", algorithm="none", headers={"kid": own_kid(keys)})


def signed_with_public_half(keys: KeyStore, _: Path) -> str:
    [public] = [key for key in read_public_keys(keys.directory) if key["owner"] == SENDER]
    secret = base64.urlsafe_b64decode(public["x"] + "=")
    return jwt.encode(claims(), secret, algorithm="HS256", headers={"kid": own_kid(keys)})


def forged(keys: KeyStore, folder: Path) -> str:
    write_keys(folder, [SENDER])
    _, other = read_private_key(folder, SENDER)
    return jwt.encode(claims(), other, algorithm="EdDSA", headers={"kid": own_kid(keys)})


def of_unknown_key(_: KeyStore, folder: Path) -> str:
    write_keys(folder, [SENDER])
    return KeyStore(folder).issue(SENDER, AUDIENCE)


def expired(keys: KeyStore, _: Path) -> str:
    return KeyStore(keys.directory, now=lambda: time.time() - 1000).issue(SENDER, AUDIENCE)


Make = Callable[[KeyStore, Path], str]
WRONG_TOKENS: dict[str, tuple[Make, int, str]] = {
    "empty": (lambda *_: "", 401, "TICKET_MISSING"),
    "no token": (lambda *_: "nonsense", 401, "TICKET_INVALID"),
    "alg none": (unsigned, 401, "TICKET_INVALID"),
    "HS256 with the public half": (signed_with_public_half, 401, "TICKET_INVALID"),
    "forged": (forged, 401, "TICKET_INVALID"),
    "unknown kid": (of_unknown_key, 401, "TICKET_KEY_UNKNOWN"),
    "expired": (expired, 401, "TICKET_EXPIRED"),
    "too long": (lambda keys, _: sign(keys, SENDER, exp=int(time.time()) + 10**6), 401, "TICKET_TOO_LONG"),
    "wrong audience": (lambda keys, _: keys.issue(SENDER, "offers"), 401, "TICKET_FOR_ANOTHER"),
    "key of another": (lambda keys, _: sign(keys, "offers"), 401, "TICKET_KEY_OF_ANOTHER"),
    "wrong caller": (lambda keys, _: keys.issue("offers", AUDIENCE), 403, "CALLER_NOT_ALLOWED"),
}


@pytest.mark.kafka
@pytest.mark.parametrize("environment", ["testing", "stable"])
async def test_a_wrong_token_is_refused_and_counted_and_changes_nothing(
    service: Service, tmp_path: Path, environment: str
) -> None:
    """In testing too: a token that is sent must be valid."""
    service.stand_in.content = PEOPLE
    key = await service.create_waiting()
    before = await contents(service)
    for number, (name, (make, status, reason)) in enumerate(WRONG_TOKENS.items()):
        token = make(service.keys, tmp_path / str(number))
        counted = refused(reason)
        response = await service.call_back(
            verdict(BAD, key=key), {**END, "key": key}, headers={TOKEN: token}, token=None
        )
        assert_refused(response, status, reason, name)
        assert refused(reason) == counted + 1, name
    assert (await contents(service))[2:] == before[2:]  # decisions and reports
    assert await service.rows("SELECT status FROM subjects") == [("PENDING",)]
    # A valid token in another header does not count.
    if environment == "stable":
        bearer = {"Authorization": f"Bearer {service.keys.issue(SENDER, AUDIENCE)}"}
        assert_refused(await service.call_back({**END, "key": key}, token=None, headers=bearer), 401, "TICKET_MISSING")


FLOOD, SENDERS = 1000, 20


async def flood(service: Service) -> tuple[list[httpx.Response], float]:
    """Send callbacks without a token, some concurrently; return the responses and the duration in seconds."""
    numbers = iter(range(FLOOD))
    body = {"verdicts": [{**END, "key": "x"}]}
    began = time.monotonic()

    async def send() -> list[httpx.Response]:
        # Each with a separate client: a pool scans all waiting requests at each step.
        async with loopback_client(service.http.base_url, timeout_s=300) as http:
            return [
                await http.post(PATH, json=body, headers={"X-Forwarded-For": f"10.0.0.{number}"}) for number in numbers
            ]

    sent = await asyncio.gather(*(send() for _ in range(SENDERS)))
    return [response for each in sent for response in each], time.monotonic() - began


async def vote_meanwhile(service: Service, name: str, flooding: asyncio.Future[Any]) -> int:
    """Vote one after another until the flood has ended; a refused vote raises."""
    count = 0
    while count < 20 or not flooding.done():
        # The test shares its processor with others, so the duration of a vote says nothing here.
        await service.points.Vote(VoteRequest(name=name, author_id=f"voter {count}", is_there=True), timeout=300)
        count += 1
    return count


@pytest.mark.kafka
@pytest.mark.parametrize("environment", ["testing", "stable"])
async def test_votes_work_while_a_thousand_callbacks_without_a_token_are_refused(
    service: Service, environment: str
) -> None:
    service.stand_in.content = CLEAN
    name = await service.create()
    await until(lambda: service.is_served(name))
    reason, status = ("REQUEST_RATE_LIMIT", 429) if environment == "testing" else ("TICKET_MISSING", 401)
    counted = refused(reason)
    flooding = asyncio.create_task(flood(service))
    votes = await vote_meanwhile(service, name, flooding)
    responses, took_s = await flooding
    assert (await service.points.GetPoint(GetPointRequest(name=name))).votes_for == votes
    statuses = Counter(response.status_code for response in responses)
    taken = statuses.pop(200, 0)
    assert statuses == {status: FLOOD - taken}
    assert refused(reason) - counted == FLOOD - taken
    # One at once and one per second, under any claimed name; in stable none.
    assert (1 <= taken <= 1 + took_s) if environment == "testing" else taken == 0
    limited = [response for response in responses if response.status_code == 429]
    assert all(int(response.headers["Retry-After"]) >= 1 for response in limited)
    # They do not delay the sender with its token.
    assert (await service.call_back({**END, "key": "x"})).status_code == 200


@pytest.mark.kafka
async def test_a_callback_without_a_token_has_a_few_keys(service: Service) -> None:
    """Fails if any process of the machine can decide about thousands of texts in one callback."""
    service.stand_in.content = PEOPLE
    key = await service.create_waiting()
    many = [{**END, "key": key}, *({**END, "key": f"offer/s/n/{number}~00"} for number in range(10))]
    counted = refused("CALLBACK_KEYS_TOO_MANY")
    assert_refused(await service.call_back(*many, token=None), 429, "CALLBACK_KEYS_TOO_MANY")
    assert refused("CALLBACK_KEYS_TOO_MANY") == counted + 1
    assert await service.rows("SELECT status FROM subjects") == [("PENDING",)]
    assert (await service.call_back(*many)).status_code == 200
    assert await service.rows("SELECT status FROM subjects") == [("APPROVED",)]


def body_of(*verdicts: dict[str, Any]) -> bytes:
    return json.dumps({"verdicts": verdicts}).encode()


NAMED = {"name": "police", "key": "a"}
NESTED = b"[" * 14 + b"]" * 14  # three more surround it
INVALID, VERDICTS = "REQUEST_INVALID", "VERDICTS_INVALID"
WRONG_BODIES: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 400, INVALID),
    "no JSON": (b"no JSON", 400, INVALID),
    "half": (b'{"verdicts":[', 400, INVALID),
    "two documents": (b"{}{}", 400, INVALID),
    "no UTF-8": (b'{"verdicts":[{"name":"\xff","key":"a"}]}', 400, INVALID),
    "UTF-16": (body_of(NAMED).decode().encode("utf-16"), 400, INVALID),
    "null": (b"null", 400, INVALID),
    "a list": (b"[]", 400, INVALID),
    "no verdicts": (b"{}", 400, INVALID),
    "null for verdicts": (b'{"verdicts":null}', 400, INVALID),
    "an object for verdicts": (b'{"verdicts":{}}', 400, INVALID),
    "a number in the list": (b'{"verdicts":[5]}', 400, INVALID),
    "a number for verdicts": (b'{"verdicts":1e999}', 400, INVALID),
    "5,000 digits": (b'{"verdicts":[{"name":"police","key":"a","value":' + b"9" * 5000 + b"}]}", 400, INVALID),
    "too deep": (b'{"verdicts":' + b"[" * 5000 + b"]" * 5000 + b"}", 400, INVALID),
    "too deep within a verdict": (
        b'{"verdicts":[{"name":"a","key":"a","x":' + b"[" * 15 + b"]" * 15 + b"}]}",
        400,
        INVALID,
    ),
    "a NUL byte": (b'{"verdicts":[{"name":"police","key":"a\0"}]}', 400, INVALID),
    "half a character in the key": (body_of({"name": "police", "key": "\ud800"}), 400, INVALID),
    "half a character in the name": (body_of({"name": "\udfff", "key": "a"}), 400, INVALID),
    "half a character as a member": (body_of({**NAMED, "\ud800": 1}), 400, INVALID),
    "gzip": (gzip.compress(body_of(NAMED)), 400, INVALID),
    "an empty list": (body_of(), 400, VERDICTS),
    "no key": (body_of({"name": "police"}), 400, VERDICTS),
    "an empty key": (body_of({"name": "police", "key": ""}), 400, VERDICTS),
    "a number for the key": (body_of({"name": "police", "key": 5}), 400, VERDICTS),
    "NUL in the key": (body_of({"name": "police", "key": "a\0"}), 400, VERDICTS),
    "NUL in the name": (body_of({"name": "a\0", "key": "a"}), 400, VERDICTS),
    "no name": (body_of({"key": "a"}), 400, VERDICTS),
    "a long name": (body_of({"name": "a" * 129, "key": "a"}), 400, VERDICTS),
    "wrong after right": (body_of(NAMED, END), 400, VERDICTS),
    "101 verdicts about a key": (body_of(*({"name": f"v{n}", "key": "a"} for n in range(101))), 400, VERDICTS),
    "10 MB": (b" " * (10 << 20), 413, "BODY_TOO_LARGE"),
    "a byte too many": (body_of(NAMED).ljust((1 << 20) + 1), 413, "BODY_TOO_LARGE"),
}


@pytest.mark.kafka
async def test_wrong_bodies_are_refused_and_counted(service: Service) -> None:
    before = await contents(service)
    for name, (content, status, reason) in WRONG_BODIES.items():
        counted = refused(reason)
        assert_refused(await service.call_back(content=content), status, reason, name)
        assert refused(reason) == counted + 1, name
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        counted = refused("CONTENT_TYPE_NOT_JSON", api="pages")
        response = await service.call_back(NAMED, headers={"Content-Type": content_type})
        assert_refused(response, 415, "CONTENT_TYPE_NOT_JSON", content_type)
        assert refused("CONTENT_TYPE_NOT_JSON", api="pages") == counted + 1
    zipped = gzip.compress(body_of(NAMED))
    assert_refused(await service.call_back(content=zipped, headers={"Content-Encoding": "gzip"}), 400, INVALID)
    assert await contents(service) == before


@pytest.mark.kafka
async def test_10_mb_without_a_length_are_refused_at_the_limit(service: Service) -> None:
    counted = refused("BODY_TOO_LARGE")
    url = service.http.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    token = service.keys.issue(SENDER, AUDIENCE)
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{TOKEN}: {token}\r\n"
    writer.write(f"{head}Transfer-Encoding: chunked\r\n\r\na00000\r\n".encode())  # announces one chunk of 10 MB
    writer.write(b" " * ((1 << 20) + 1))  # and sends only a part of it
    async with asyncio.timeout(60):
        received = await reader.read()  # ends because the connection was closed
    writer.close()
    assert received.startswith(b"HTTP/1.1 413 ")
    assert b"BODY_TOO_LARGE" in received
    assert refused("BODY_TOO_LARGE") == counted + 1
    assert (await service.call_back(content=body_of(NAMED).ljust(1 << 20))).status_code == 200


@pytest.mark.kafka
async def test_odd_values_are_taken_for_what_they_are(service: Service) -> None:
    service.stand_in.content = PEOPLE
    key = await service.create_waiting()
    huge = [{"start": 10**30, "end": 10**40, "excerpt": "a\0"}, {"start": 0, "end": 3, "excerpt": "a\0b"}]
    odd: list[dict[str, Any]] = [
        {"name": "police", "key": key, "value": 10**300},  # not true
        {"name": "police", "key": key, "value": "true"},
        {"name": "text_auto_spam", "key": "x" * 100_000, "value": True},  # the key of no text
        {"name": BAD, "key": key, "source": "a\0" * 1000, "spans": huge, "more": {"of": ["anything"]}},
    ]
    assert (await service.call_back(*odd, {**END, "key": key})).status_code == 200
    [(status, [stored])] = await service.rows("SELECT status, verdicts FROM subjects")
    assert (status, stored["name"], stored["source"]) == ("DISAPPROVED", BAD, "a" * 100)
    assert stored["spans"] == [{"start": 0, "end": 3, "excerpt": "ab"}]


@pytest.mark.kafka
async def test_of_equal_members_the_last_one_counts(service: Service) -> None:
    service.stand_in.content = PEOPLE
    key = await service.create_waiting()
    end = json.dumps({**END, "key": key}).encode()
    twice = b'{"verdicts":' + body_of(verdict(BAD, key=key))[13:-1] + b',"verdicts":[' + end + b"]}"
    again = (
        b'{"verdicts":[{"name":"text_auto_spam","name":"police","key":"x","key":"' + key.encode() + b'"},' + end + b"]}"
    )
    for content, verdicts in ((twice, []), (again, ["police"])):
        assert (await service.call_back(content=content)).status_code == 200
        [(status, stored)] = await service.rows("SELECT status, verdicts FROM subjects")
        assert (status, [item["name"] for item in stored]) == ("APPROVED", verdicts)


async def test_without_keys_it_does_not_start_on_the_loopback_either() -> None:
    settings = ModerationSettings(dsn="postgresql://127.0.0.1:1/none", http_listen="127.0.0.1:0")
    with pytest.raises(ListenError, match="The callback of the verdict service needs CLASSIFEED_MODERATION_KEYS_DIR"):
        build(settings)


async def test_while_it_starts_and_drains_it_is_503_and_the_sender_tries_again(
    moderation: Moderation, keys: KeyStore
) -> None:
    point_id = await moderation.create_point()
    may_start, is_draining, may_stop = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work(stop: asyncio.Event) -> None:
        await stop.wait()
        is_draining.set()
        await may_stop.wait()

    async def on_start() -> None:
        await may_start.wait()

    routes = callback_routes(moderation.record_verdicts, keys=keys, policy=POLICY, takes_anonymous=True)
    settings = settings_for(AUDIENCE).model_copy(update={"drain_notice_s": 0.0, "drain_grace_s": 60})
    runner = ServiceRunner(
        settings, AUDIENCE, "1", routes=routes, roles=[Role("work", work)], policy=POLICY, keys=keys, on_start=on_start
    )
    stop = asyncio.Event()
    running = asyncio.create_task(runner.run(stop))
    await until(lambda: bool(runner.http_address))
    async with loopback_client(f"http://{runner.http_address}") as http:

        async def send() -> httpx.Response:
            headers = {TOKEN: keys.issue(SENDER, AUDIENCE)}
            items = [verdict("police", key=str(point_id)), {**END, "key": str(point_id)}]
            return await http.post(PATH, json={"verdicts": items}, headers=headers)

        counted = {reason: refused(reason) for reason in ("STARTING", "DRAINING")}
        starting = await send()
        assert_refused(starting, 503, "STARTING")
        assert (await moderation.subject(point_id)).status is Status.PENDING
        may_start.set()
        await until(lambda: runner.is_ready)
        assert (await send()).status_code == 200
        assert (await moderation.subject(point_id)).status is Status.APPROVED
        stop.set()
        await is_draining.wait()
        draining = await send()
        assert_refused(draining, 503, "DRAINING")
        assert starting.headers["Retry-After"] == draining.headers["Retry-After"] == "1"
        assert {reason: refused(reason) - before for reason, before in counted.items()} == {
            "STARTING": 1,
            "DRAINING": 1,
        }
        may_stop.set()
    assert await running == 0


@pytest.mark.kafka
async def test_it_is_stored_with_its_request_id_and_twice_changes_nothing(service: Service) -> None:
    service.stand_in.content = PEOPLE
    key = await service.create_waiting()
    sent = [verdict(BAD, key=key), {**END, "key": key}, {**END, "key": "unknown"}]
    response = await service.call_back(*sent, headers={"X-Request-Id": "delivery-7"})
    assert (response.status_code, response.json()) == (200, {"keys": 2})
    assert await service.rows("SELECT status FROM subjects") == [("DISAPPROVED",)]
    assert await service.rows("SELECT request_id FROM decisions") == [("delivery-7",)]
    before = (await contents(service))[:3]
    assert (await service.call_back(*sent)).status_code == 200
    assert (await contents(service))[:3] == before


@pytest.mark.kafka
async def test_several_keys_are_judged_each_for_itself(service: Service) -> None:
    service.stand_in.content = PEOPLE
    good, bad, silent, half = [await service.create_waiting() for _ in range(4)]
    counted = [each._value.get() for each in (ABNORMAL, IGNORED, UNKNOWN_VERDICTS)]
    response = await service.call_back(
        verdict("police", key=good),
        verdict(BAD, key=bad),
        verdict(BAD, key=good, value=False),
        {**END, "key": bad},
        verdict(BAD, key=silent, value=False),
        verdict(BAD, key=silent, entity="picture"),
        verdict("request", key=half),  # without an end verdict
        {**END, "key": good},
        verdict(BAD, key="nobody's"),
    )
    assert (response.status_code, response.json()) == (200, {"keys": 5})
    rows = await service.rows("SELECT subject_key, status, verdicts FROM subjects")
    assert {key: (status, [item["name"] for item in verdicts]) for key, status, verdicts in rows} == {
        good: ("APPROVED", ["police"]),
        bad: ("DISAPPROVED", [BAD]),
        silent: ("PENDING", []),
        half: ("PENDING", []),
    }
    moved = [each._value.get() for each in (ABNORMAL, IGNORED, UNKNOWN_VERDICTS)]
    assert [now - before for now, before in zip(moved, counted, strict=True)] == [2, 1, 0]


@pytest.mark.kafka
async def test_the_end_alone_approves_and_a_verdict_without_a_rule_forbids(service: Service) -> None:
    service.stand_in.content = PEOPLE
    ended, novel = [await service.create_waiting() for _ in range(2)]
    counted = UNKNOWN_VERDICTS._value.get()
    await service.call_back({**END, "key": ended})
    await service.call_back(verdict("text_auto_novelty", key=novel, subsource="x", source="y"), {**END, "key": novel})
    rows = await service.rows("SELECT subject_key, status, verdicts FROM subjects")
    found = {key: (status, verdicts) for key, status, verdicts in rows}
    assert found[ended] == ("APPROVED", [])
    # `source` and `entity` are kept with the decision; `subsource` and the end verdict are not.
    stored = [{"name": "text_auto_novelty", "source": "y", "entity": "text", "spans": []}]
    assert found[novel] == ("DISAPPROVED", stored)
    assert await service.rows("SELECT verdicts, rule FROM decisions WHERE subject_key = %s", novel) == [
        (stored, "unknown_verdict")
    ]
    assert UNKNOWN_VERDICTS._value.get() - counted == 1


@pytest.mark.kafka
async def test_it_comes_before_our_own_response(service: Service) -> None:
    service.stand_in.content = CLEAN
    service.stand_in.released.clear()
    name = await service.create()
    key = name.removeprefix("points/")
    await service.stand_in.arrived.wait()
    assert (await service.call_back(verdict(BAD, key=key), {**END, "key": key})).status_code == 200
    service.stand_in.released.set()

    async def is_kept() -> bool:
        return await service.rows("SELECT count(*) FROM decisions") == [(2,)]

    await until(is_kept)  # the late response is recorded, and changes nothing
    assert await service.rows("SELECT status FROM subjects") == [("DISAPPROVED",)]
    assert not await service.is_served(name)


@pytest.mark.kafka
async def test_all_verdicts_of_a_text_are_judged_together(service: Service) -> None:
    """Judged one by one, the first verdict would change the tags and show the point until the last one removed it."""
    service.stand_in.content = PEOPLE
    key = await service.create_waiting()
    sent = [verdict(name, key=key) for name in ("police", "request", BAD)]
    assert (await service.call_back(*sent, {**END, "key": key})).status_code == 200
    assert await service.rows(
        "SELECT status, cardinality(tags_after), jsonb_array_length(verdicts) FROM decisions"
    ) == [("DISAPPROVED", 1, 3)]
    assert await service.rows("SELECT tags FROM points") == [(["other"],)]


async def test_it_is_confirmed_when_it_is_committed(moderation: Moderation) -> None:
    """Verdicts in memory only would be lost with the process, and the sender does not send them again."""
    point_id = await moderation.create_point()
    async with moderation.database.transaction() as tx:
        await tx.execute("SELECT FROM subjects FOR UPDATE")
        confirmed = asyncio.create_task(moderation.record(point_id, "police"))
        assert await comes_to_wait(confirmed, moderation.database, behind=tx)
        assert not confirmed.done()
    await confirmed
    assert (await moderation.subject(point_id)).status is Status.APPROVED


async def test_what_cannot_be_stored_is_not_confirmed_and_holds_up_no_other(moderation: Moderation) -> None:
    """A sender that gets 200 forgets its verdicts."""
    broken, other = await moderation.create_point("broken"), await moderation.create_point("other")
    await moderation.refuse_decisions(broken)
    results = await asyncio.gather(
        *(moderation.record(key, "police") for key in (broken, other)), return_exceptions=True
    )
    assert [type(each).__name__ for each in results] == ["RaiseException", "NoneType"]
    assert (await moderation.subject(other)).status is Status.APPROVED
