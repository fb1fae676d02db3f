"""Settings that choose the verdict service and the treatment of waiting texts, tested by their effects."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from classifeed.points.v1.point_pb2 import Author, Location
from classifeed.points.v1.point_service_pb2 import AddCommentRequest, GetPointRequest, ListPointsRequest
from classifeed_devkit.testing.recovery import until
from classifeed_moderation.clients import configured
from classifeed_moderation.clients.fake_verdicts import FakeVerdicts
from classifeed_moderation.metrics import REQUESTS
from classifeed_moderation.parts import judging

from ..conftest import END, PEOPLE, result, verdict
from .conftest import Service

pytestmark = pytest.mark.kafka
SHOWN_SOON = {"retry_interval_s": 0.2, "max_pending_duration_s": 3600}


async def statuses(service: Service) -> set[str]:
    return {status for (status,) in await service.rows("SELECT DISTINCT status FROM subjects")}


class TestGeneratedVerdicts:
    """Verdicts that this process generates instead of requests."""

    @pytest.fixture(
        params=[
            ({"forbidden_percent": 0}, "verdicts", "APPROVED"),
            ({"forbidden_percent": 100}, "verdicts", "DISAPPROVED"),
            ({"people_percent": 95}, "people", "PENDING"),
            ({"failed_percent": 100, "forbidden_percent": 0}, "fault", "PENDING"),
        ]
    )
    def generated(self, request: pytest.FixtureRequest) -> tuple[dict[str, int], str, str]:
        shares: tuple[dict[str, int], str, str] = request.param
        return shares

    @pytest.fixture
    def options(self, generated: tuple[dict[str, int], str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        monkeypatch.setattr(configured, "FakeVerdicts", lambda clock: FakeVerdicts(clock, delay_s=0, **generated[0]))
        return {"fake_clean_web": "on"}

    async def test_made_up_verdicts_go_the_way_of_others_and_no_request_leaves(
        self, service: Service, generated: tuple[dict[str, int], str, str]
    ) -> None:
        _, outcome, status = generated
        before = REQUESTS.labels(outcome)._value.get()
        for number in range(20):
            await service.create(f"text {number}")
        await until(lambda: REQUESTS.labels(outcome)._value.get() - before >= 15)

        async def is_recorded() -> bool:
            return status in await statuses(service)

        await until(is_recorded)
        assert service.stand_in.requests == []


@pytest.mark.parametrize("environment", ["load"])
async def test_in_load_texts_are_stored_and_wait_and_no_request_leaves(service: Service) -> None:
    before = REQUESTS.labels("unreachable")._value.get()
    await service.create()
    await until(lambda: REQUESTS.labels("unreachable")._value.get() > before)
    assert await statuses(service) == {"PENDING"}
    assert service.stand_in.requests == []


class TestPaced:
    """Requests in the environment testing."""

    @pytest.fixture
    def options(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        monkeypatch.setattr(judging, "TESTING_REQUESTS_S", 5)
        return {}

    async def test_in_testing_requests_keep_their_own_limit(self, service: Service) -> None:
        for number in range(15):
            await service.create(f"text {number}")
        await until(lambda: len(service.stand_in.requests) >= 15)
        arrived_s = [request.at_s for request in service.stand_in.requests]
        assert arrived_s[14] - arrived_s[0] >= 14 / 5 - 1, "but for the way of the first one"


@pytest.mark.parametrize("environment", ["stable", "testing"])
@pytest.mark.parametrize("options", [{"verdict_service": "our-name"}])
async def test_requests_say_who_makes_them(service: Service, environment: str) -> None:
    await service.create()
    await until(lambda: bool(service.stand_in.requests))
    params = service.stand_in.requests[0].params
    assert (params["service"], params["body"]["environment"]) == ("our-name", environment)


@pytest.mark.parametrize(
    "options",
    [
        SHOWN_SOON | {"points_while_silent": "show"},
        SHOWN_SOON | {"points_while_silent": "show", "comments_while_silent": "show"},
    ],
)
async def test_while_the_verdict_service_is_silent_each_kind_waits_or_shows(
    service: Service, options: dict[str, Any]
) -> None:
    service.stand_in.content = PEOPLE
    name = await service.create()
    add = AddCommentRequest(parent=name, author=Author(author_id="b"), text="seen", request_id="1")
    await service.points.AddComment(add)
    await service.rows("UPDATE subjects SET started = started - interval '1 hour' RETURNING 1")
    point = await service.points.GetPoint(GetPointRequest(name=name))
    assert len(point.comments) == ("comments_while_silent" in options)
    area = ListPointsRequest(south_west=Location(latitude=0, longitude=0), north_east=Location(latitude=3, longitude=3))
    assert [each.name for each in (await service.points.ListPoints(area)).points] == [name]


async def test_by_default_nothing_shows_however_long_the_verdict_service_is_silent(service: Service) -> None:
    service.stand_in.content = PEOPLE
    name = await service.create()
    await service.rows("UPDATE subjects SET started = started - interval '1 year' RETURNING 1")
    with pytest.raises(grpc.aio.AioRpcError, match="not approved yet"):
        await service.points.GetPoint(GetPointRequest(name=name))


class TestRulesFile:
    """A rules file replaces the default rules."""

    @pytest.fixture
    def rules_file(self, tmp_path: Path) -> Path:
        rules = yaml.safe_load(files("classifeed_moderation.rules").joinpath("rules.yaml").read_bytes())
        rules["unknown_verdict"] = "ignore"
        path = tmp_path / "rules.yaml"
        path.write_text(yaml.safe_dump(rules, allow_unicode=True))
        return path

    async def test_its_rules_decide(self, service: Service) -> None:
        service.stand_in.content = result(verdict("no_rule_names_it"), END)
        await service.create()

        async def is_decided() -> bool:
            return await statuses(service) == {"APPROVED"}

        await until(is_decided)
