"""Settings: environment variables, defaults, and the verdict service that they choose."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter

import pytest

from classifeed_common.auth import KeyStore
from classifeed_common.clock import FakeClock, SystemClock
from classifeed_moderation.clients import configured
from classifeed_moderation.clients.configured import verdict_service_of
from classifeed_moderation.clients.fake_verdicts import FakeVerdicts
from classifeed_moderation.clients.verdict_service import Outcome
from classifeed_moderation.domain.subjects import Kind, Task, hash_text
from classifeed_moderation.settings import ModerationSettings

DEFAULTS = {
    "retry_interval_s": 60,
    "max_pending_duration_s": 600,
    "workers": 512,
    "answer_s": 5,
    "verdict_environment": "testing",
    "fake_clean_web": "off",
    "rules_file": None,
    "points_while_silent": "wait",
    "comments_while_silent": "wait",
}


def tasks(count: int) -> list[Task]:
    texts = [f"text {number}" for number in range(count)]
    return [Task(text, Kind.POINT, text, hash_text(text), ()) for text in texts]


def test_variables_have_the_prefix_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_MODERATION_ENVIRONMENT", "staging")
    assert (ModerationSettings.service_name(), ModerationSettings().environment) == ("moderation", "staging")


def test_defaults_are_those_of_the_protocol() -> None:
    settings = ModerationSettings()
    assert {name: getattr(settings, name) for name in DEFAULTS} == DEFAULTS


async def test_made_up_verdicts_have_the_shares_that_are_set() -> None:
    service = FakeVerdicts(SystemClock(), delay_s=0, forbidden_percent=20, people_percent=30, failed_percent=10)
    responses = await service.request(tasks(4000))
    found = Counter("forbidden" if response.verdict_list.verdicts else response.outcome.value for response in responses)
    expected = {"forbidden": 800, "people": 1200, "fault": 400, "verdicts": 1600}
    assert {name: pytest.approx(count, abs=200) for name, count in expected.items()} == dict(found)
    assert await service.request(tasks(4000)) == responses, "the same text gets the same verdict"


async def test_made_up_verdicts_take_their_time(keys: KeyStore) -> None:
    clock = FakeClock()
    service = verdict_service_of(ModerationSettings(fake_clean_web="on"), clock, keys)
    requesting = asyncio.create_task(service.request(tasks(1)))
    await asyncio.sleep(0)
    await clock.advance(0.19)
    assert not requesting.done()
    await clock.advance(0.02)
    async with asyncio.timeout(10):
        assert len(await requesting) == 1


def test_shares_of_more_than_all_are_refused() -> None:
    with pytest.raises(ValueError, match="120 % together"):
        FakeVerdicts(SystemClock(), forbidden_percent=60, people_percent=60)


async def test_a_connection_takes_no_longer_than_its_limit(keys: KeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configured, "CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:  # fill the backlog of connections, which is not accepted
            each.setblocking(False)
            each.connect_ex(server.getsockname())
        settings = ModerationSettings(verdict_url=f"http://127.0.0.1:{server.getsockname()[1]}", answer_s=600)
        service = verdict_service_of(settings, SystemClock(), keys)
        [response] = await service.request(tasks(1))
        for each in waiting:
            each.close()
    assert (response.outcome, response.fault) == (Outcome.UNREACHABLE, "ConnectTimeout")
    await service.close()
