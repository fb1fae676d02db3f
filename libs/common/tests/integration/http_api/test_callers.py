"""Authorisation and rate limits of callers of an HTTP API."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import jwt
import pytest
from structlog.testing import capture_logs

from classifeed_common.auth import KeyStore, write_keys
from classifeed_common.auth.keys import read_private_key, read_public_keys
from classifeed_common.http.api.request_limits import RequestLimits, RequestRate
from classifeed_common.runner.listening import ListenError, http_keys
from classifeed_devkit.testing.rpc import settings_for

from .conftest import AUDIENCE, CALLER, STRANGER, Serve, assert_problem, refusals


def claims() -> dict[str, object]:
    now = int(time.time())
    return {"iss": CALLER, "sub": CALLER, "aud": AUDIENCE, "iat": now, "exp": now + 100, "jti": uuid4().hex}


def own_kid(keys: KeyStore) -> str:
    return read_private_key(keys.directory, CALLER)[0]


def unsigned(keys: KeyStore, _: Path) -> str:
    return jwt.encode(claims(), "", algorithm="none", headers={"kid": own_kid(keys)})


def signed_with_public_half(keys: KeyStore, _: Path) -> str:
    """Return a token for a verifier that trusts the token's algorithm: HS256 with the public key as the secret."""
    [public] = [key for key in read_public_keys(keys.directory) if key["owner"] == CALLER]
    secret = base64.urlsafe_b64decode(public["x"] + "=")
    return jwt.encode(claims(), secret, algorithm="HS256", headers={"kid": own_kid(keys)})


def forged(keys: KeyStore, folder: Path) -> str:
    write_keys(folder, [CALLER])
    _, other = read_private_key(folder, CALLER)
    return jwt.encode(claims(), other, algorithm="EdDSA", headers={"kid": own_kid(keys)})


def of_unknown_key(_: KeyStore, folder: Path) -> str:
    write_keys(folder, [CALLER])
    return KeyStore(folder).issue(CALLER, AUDIENCE)


def expired(keys: KeyStore, _: Path) -> str:
    return KeyStore(keys.directory, now=lambda: time.time() - 1000).issue(CALLER, AUDIENCE)


def changed(keys: KeyStore, _: Path) -> str:
    head, content, signature = keys.issue(CALLER, AUDIENCE).split(".")
    values = json.loads(base64.urlsafe_b64decode(content + "=="))
    content = base64.urlsafe_b64encode(json.dumps(values | {"exp": values["exp"] + 60}).encode()).decode().rstrip("=")
    return f"{head}.{content}.{signature}"


WRONG: list[tuple[Callable[[KeyStore, Path], str] | str, int, str]] = [
    ("", 401, "TICKET_MISSING"),
    ("nonsense", 401, "TICKET_INVALID"),
    (unsigned, 401, "TICKET_INVALID"),
    (signed_with_public_half, 401, "TICKET_INVALID"),
    (forged, 401, "TICKET_INVALID"),
    (changed, 401, "TICKET_INVALID"),
    (of_unknown_key, 401, "TICKET_KEY_UNKNOWN"),
    (expired, 401, "TICKET_EXPIRED"),
    (lambda keys, _: keys.issue(CALLER, STRANGER), 401, "TICKET_FOR_ANOTHER"),
    (lambda keys, _: keys.issue(STRANGER, AUDIENCE), 403, "CALLER_NOT_ALLOWED"),
]


@pytest.mark.parametrize("takes_anonymous", [False, True])
async def test_a_wrong_token_is_refused_and_counted(
    serve: Serve, keys: KeyStore, tmp_path: Path, takes_anonymous: bool
) -> None:
    async with serve(takes_anonymous=takes_anonymous) as served:
        for number, (made, status, reason) in enumerate(WRONG):
            token = made if isinstance(made, str) else made(keys, tmp_path / str(number))
            before = refusals(reason)
            assert_problem(await served.put(token), status, reason)
            assert refusals(reason) == before + 1
        assert served.notes.stored == []
        response = await served.put(keys.issue(CALLER, AUDIENCE))
        assert (response.status_code, response.json()) == (200, {"by": CALLER, "count": 1})


async def test_without_a_token_nobody_is_let_in_on_the_loopback_either(serve: Serve, keys: KeyStore) -> None:
    async with serve() as served:
        assert served.runner.http_address.startswith("127.0.0.1:")
        token = keys.issue(CALLER, AUDIENCE)
        assert_problem(await served.put(), 401, "TICKET_MISSING")
        # A valid token in another header does not count.
        response = await served.put(headers={"authorization": f"Bearer {token}"})
        assert_problem(response, 401, "TICKET_MISSING")
        assert "X-Service-Ticket: <token>" in response.json()["detail"]
        document = (await served.http.get("/openapi.json", headers={"x-service-ticket": token})).json()
        scheme = {"type": "apiKey", "in": "header", "name": "X-Service-Ticket"}
        assert document["components"]["securitySchemes"]["ticket"] == scheme
        assert served.notes.stored == []


def test_keys_on_the_loopback_are_what_the_api_says(keys: KeyStore) -> None:
    settings = settings_for(AUDIENCE).model_copy(update={"keys_dir": keys.directory, "http_listen": "127.0.0.1:0"})
    assert http_keys(settings) is None
    assert http_keys(settings, required_by="the callback") is not None
    with pytest.raises(ListenError, match="the callback needs CLASSIFEED_RECEIVER_KEYS_DIR"):
        http_keys(settings.model_copy(update={"keys_dir": None}), required_by="the callback")


async def test_who_came_in_stands_in_the_audit_log(serve: Serve, keys: KeyStore) -> None:
    async with serve() as served:
        with capture_logs() as lines:
            await served.put(keys.issue(CALLER, AUDIENCE))
            await served.put("nonsense")
    ended = [(line["by"], line["status"]) for line in lines if line["event"] == "api.request.ended"]
    assert ended == [(CALLER, 200), ("-", 401)]


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def test_a_caller_has_a_limit_of_its_own_and_all_anonymous_ones_one_together(
    serve: Serve, keys: KeyStore
) -> None:
    clock = Clock()
    limits = RequestLimits(per_caller=RequestRate(2, burst=3), anonymous=RequestRate(0.5), now=clock)
    async with serve(limits=limits, takes_anonymous=True) as served:
        token = keys.issue(CALLER, AUDIENCE)
        before = refusals("REQUEST_RATE_LIMIT")
        anonymous = [await served.put(headers={"x-forwarded-for": f"10.0.0.{n}"}) for n in range(20)]
        assert [each.status_code for each in anonymous] == [200] + [429] * 19
        assert_problem(anonymous[1], 429, "REQUEST_RATE_LIMIT")
        assert anonymous[1].headers["retry-after"] == "2"
        assert anonymous[0].json()["by"].startswith("anonymous@")
        assert refusals("REQUEST_RATE_LIMIT") == before + 19
        assert [(await served.put(token)).status_code for _ in range(4)] == [200, 200, 200, 429]
        clock.now_s += 1.0
        assert [(await served.put(token)).status_code for _ in range(3)] == [200, 200, 429]
        assert (await served.put()).status_code == 429
        clock.now_s += 1.0
        assert [(await served.put()).status_code for _ in range(2)] == [200, 429]
        clock.now_s += 3600.0
        assert [(await served.put(token)).status_code for _ in range(4)] == [200, 200, 200, 429], "no more than a burst"
        assert [(await served.put(headers={"authorization": "x"})).status_code for _ in range(2)] == [200, 429]


async def test_a_caller_that_is_refused_takes_nothing_from_the_limit_of_another(serve: Serve, keys: KeyStore) -> None:
    limits = RequestLimits(per_caller=RequestRate(1), now=Clock())
    async with serve(limits=limits) as served:
        for token in ("nonsense", keys.issue(STRANGER, AUDIENCE)):
            assert (await served.put(token)).status_code in {401, 403}
        assert (await served.put(keys.issue(CALLER, AUDIENCE))).status_code == 200


def test_limits_keep_no_more_callers_than_are_counted() -> None:
    clock = Clock()
    limits = RequestLimits(per_caller=RequestRate(1), now=clock)
    for number in range(5000):
        limits.take(f"caller{number}")
        clock.now_s += 2.0
    assert len(limits._buckets) <= 1024


@pytest.mark.parametrize("wrong", [{"per_s": 0}, {"per_s": -1.0}, {"per_s": 1, "burst": 0}])
def test_a_rate_that_takes_nothing_is_no_rate(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="more than 0 requests a second"):
        RequestRate(**wrong)  # type: ignore[arg-type]


async def test_without_keys_whoever_reaches_the_port_is_one_anonymous_caller(serve: Serve) -> None:
    limits = RequestLimits(anonymous=RequestRate(1, burst=2), now=Clock())
    async with serve(has_keys=False, limits=limits) as served:
        assert [(await served.put("nonsense")).status_code for _ in range(3)] == [200, 200, 429]
