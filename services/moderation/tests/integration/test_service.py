"""The service as it is started: points over gRPC, texts of offers over Kafka, verdicts by callback."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import grpc
import httpx
import pytest

from classifeed.moderation.v1.moderation_service_pb2 import CheckTextRequest, GetSubjectRequest, ListPendingRequest
from classifeed.moderation.v1.moderation_service_pb2_grpc import ModerationServiceStub
from classifeed.moderation.v1.offer_texts_pb2 import OfferText, TextsToJudge
from classifeed.moderation.v1.subject_pb2 import (
    MODERATION_STATUS_DISAPPROVED,
    SUBJECT_KIND_POINT,
)
from classifeed.points.v1.point_pb2 import Author, Location
from classifeed.points.v1.point_service_pb2 import (
    AddCommentRequest,
    CreatePointRequest,
    DeletePointRequest,
    GetPointRequest,
    ListPointsRequest,
    VoteRequest,
)
from classifeed.points.v1.point_service_pb2_grpc import PointServiceStub
from classifeed_common.auth import KeyStore
from classifeed_common.embedded.kafka import EmbeddedKafka
from classifeed_common.kafka import KafkaProducer, message_of
from classifeed_common.rpc.client import open_channel
from classifeed_common.testing.recovery import until
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_moderation.bootstrap import build, prepare
from classifeed_moderation.settings import ModerationSettings

from ..conftest import END, PEOPLE, StandIn, result, verdict

pytestmark = pytest.mark.kafka
BAD = "text_toloka_obscene"
PATH = "/v2/apply_moderation_verdicts"


@dataclass
class Service:
    """A running moderation."""

    http: httpx.AsyncClient
    points: PointServiceStub
    moderation: ModerationServiceStub
    keys: KeyStore
    rows: Callable[..., Awaitable[list[tuple[Any, ...]]]]
    stand_in: StandIn
    kafka: str

    async def call_back(self, *verdicts: dict[str, Any], token: str | None = "", **options: Any) -> httpx.Response:
        headers = {"Content-Type": "application/json", **options.pop("headers", {})}
        if token is not None:
            headers["X-Ya-Service-Ticket"] = token or self.keys.issue("cleanweb", "moderation")
        content = options.pop("content", json.dumps({"verdicts": verdicts}))
        return await self.http.post(PATH, content=content, headers=headers)

    async def create(self, description: str = "text") -> str:
        point = await self.points.CreatePoint(
            CreatePointRequest(
                point_id=str(uuid4()),
                author=Author(author_id="a"),
                tags=["other"],
                description=description,
                location=Location(latitude=1, longitude=2),
                region_ids=[1],
            )
        )
        return str(point.name)


@pytest.fixture
def environment() -> str:
    return "testing"


@pytest.fixture
async def service(
    migrated_database: Any, kafka: EmbeddedKafka, keys: KeyStore, stand_in: StandIn, environment: str
) -> AsyncIterator[Service]:
    database = await migrated_database("classifeed_moderation")
    settings = ModerationSettings(
        dsn=database.dsn,
        kafka_bootstrap=kafka.bootstrap,
        keys_dir=keys.directory,
        verdict_url=stand_in.url,
        verdict_environment=environment,
        check_interval_s=0.2,
        drain_notice_s=0,
    )
    await prepare(settings)
    runner = build(settings)
    stop = asyncio.Event()
    running = asyncio.create_task(runner.run(stop))
    await until(lambda: running.done() or runner.is_ready)
    channel = open_channel(runner.grpc_address, caller="operator", audience="moderation", keys=keys)

    async def rows(query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with database.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()

    async with httpx.AsyncClient(base_url=f"http://{runner.http_address}", timeout=60, trust_env=False) as http:
        yield Service(
            http, PointServiceStub(channel), ModerationServiceStub(channel), keys, rows, stand_in, kafka.bootstrap
        )
    await channel.close()
    stop.set()
    await running


async def test_a_point_is_judged_by_the_process_that_took_it(service: Service) -> None:
    service.stand_in.content = result(verdict("police"), END)
    name = await service.create()

    async def is_served() -> bool:
        try:
            return bool(await service.points.GetPoint(GetPointRequest(name=name)))
        except grpc.aio.AioRpcError as error:
            assert error.code() is grpc.StatusCode.NOT_FOUND
            return False

    await until(is_served)
    await service.points.Vote(VoteRequest(name=name, author_id="b", is_there=True))
    await service.points.AddComment(
        AddCommentRequest(parent=name, author=Author(author_id="b"), text="seen", request_id="1")
    )

    async def has_comment() -> bool:
        return len((await service.points.GetPoint(GetPointRequest(name=name))).comments) == 1

    await until(has_comment)
    area = ListPointsRequest(
        south_west=Location(latitude=0, longitude=0), north_east=Location(latitude=3, longitude=3), tags=["police"]
    )
    [point] = (await service.points.ListPoints(area)).points
    assert (point.name, point.votes_for, list(point.tags)) == (name, 1, ["police", "speed_control"])
    assert (await service.points.DeletePoint(DeletePointRequest(name=name))).removed
    assert not (await service.points.ListPoints(area)).points


async def test_refused_and_waiting_points_are_not_served(service: Service) -> None:
    service.stand_in.respond = lambda params: PEOPLE if params["body"]["text"] == "wait" else result(verdict(BAD), END)
    waiting, refused = await service.create("wait"), await service.create("bad")

    async def is_refused() -> bool:
        subject = await service.moderation.GetSubject(GetSubjectRequest(key=refused.removeprefix("points/")))
        return bool(subject.moderation.status == MODERATION_STATUS_DISAPPROVED)

    await until(is_refused)
    for name in (waiting, refused):
        with pytest.raises(grpc.aio.AioRpcError, match="not approved yet"):
            await service.points.GetPoint(GetPointRequest(name=name))
        assert (await service.points.GetPoint(GetPointRequest(name=name, any_status=True))).name == name
        with pytest.raises(grpc.aio.AioRpcError, match="not approved yet"):
            await service.points.Vote(VoteRequest(name=name, author_id="b", is_there=True))
    pending = await service.moderation.ListPending(ListPendingRequest(kind=SUBJECT_KIND_POINT))
    assert [f"points/{subject.key}" for subject in pending.subjects] == [waiting]


async def test_check_stores_nothing(service: Service) -> None:
    service.stand_in.content = result(verdict(BAD), END)
    checked = await service.moderation.CheckText(CheckTextRequest(text="bad", kind=SUBJECT_KIND_POINT))
    assert (checked.status, checked.ban.rule) == (MODERATION_STATUS_DISAPPROVED, BAD)
    assert await service.rows("SELECT count(*) FROM subjects") == [(0,)]


async def test_callback_is_stored_with_its_request_id(service: Service) -> None:
    service.stand_in.content = PEOPLE
    key = (await service.create()).removeprefix("points/")
    response = await service.call_back(
        verdict(BAD, key=key), {**END, "key": key}, {**END, "key": "unknown"}, headers={"X-Request-Id": "delivery-7"}
    )
    assert (response.status_code, response.json()) == (200, {"keys": 2})
    assert await service.rows("SELECT status FROM subjects") == [("DISAPPROVED",)]
    assert await service.rows("SELECT request_id FROM decisions") == [("delivery-7",)]
    again = await service.call_back(verdict(BAD, key=key), {**END, "key": key})
    assert again.status_code == 200
    assert await service.rows("SELECT count(*) FROM decisions") == [(1,)]


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"no JSON", 400),
        (b"{}", 400),
        (b'{"verdicts":[]}', 400),
        (b'{"verdicts":[{"name":"police"}]}', 400),
        (b'{"verdicts":[5]}', 400),
        (b'{"verdicts":' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
        (b" " * (10 << 20), 413),
    ],
)
async def test_wrong_bodies_are_refused(service: Service, content: bytes, status: int) -> None:
    assert (await service.call_back(content=content)).status_code == status


async def test_callers_are_checked(service: Service) -> None:
    key = (await service.create()).removeprefix("points/")
    await until(lambda: bool(service.stand_in.requests))
    before = await service.rows("TABLE decisions")
    long_ago = KeyStore(service.keys.directory, now=lambda: time.time() - 1000)
    wrong = {
        service.keys.issue("cleanweb", "offers"): 401,
        long_ago.issue("cleanweb", "moderation"): 401,
        service.keys.issue("offers", "moderation"): 403,
        "nonsense": 401,
    }
    for token, status in wrong.items():
        assert (await service.call_back(verdict(BAD, key=key), token=token)).status_code == status
    assert len(await service.rows("TABLE decisions")) <= len(before) + 1  # the point's own


async def test_in_testing_a_few_anonymous_callbacks_are_taken(service: Service) -> None:
    taken = await asyncio.gather(*(service.call_back({**END, "key": "x"}, token=None) for _ in range(20)))
    statuses = [response.status_code for response in taken]
    assert 1 <= statuses.count(200) <= 5
    assert set(statuses) == {200, 429}


@pytest.mark.parametrize("environment", ["stable"])
async def test_in_stable_none_is(service: Service) -> None:
    assert (await service.call_back({**END, "key": "x"}, token=None)).status_code == 401


async def test_texts_of_offers_come_back_judged(service: Service) -> None:
    service.stand_in.respond = lambda params: (
        result(verdict(BAD), END) if "bad" in params["body"]["text"] else result(END)
    )
    seller = f"seller-{uuid4().hex[:8]}"
    texts = TextsToJudge(
        seller_id=seller,
        namespace="default",
        texts=[
            OfferText(external_id=str(number), text_hash=number.to_bytes(16), title=title, content_version=1)
            for number, title in enumerate(("a lamp", "a bad lamp", "a lamp"))
        ],
    )
    async with Producer(service.kafka) as producer:
        await producer.send([message_of(MODERATION_REQUESTS, seller.encode(), texts)])

    async def judged() -> dict[str, int]:
        rows = await service.rows("SELECT external_id, status FROM subjects WHERE status <> 'PENDING'")
        return dict(rows)

    async def all_are() -> bool:
        return len(await judged()) == 3

    await until(all_are)
    assert await judged() == {"0": "APPROVED", "1": "DISAPPROVED", "2": "APPROVED"}
    assert len(service.stand_in.requests) == 2  # equal texts are requested once

    async def is_sent() -> bool:
        return await service.rows("SELECT count(*) FROM outbox") == [(0,)]

    await until(is_sent)


class Producer:
    def __init__(self, bootstrap: str) -> None:
        self._producer = KafkaProducer(bootstrap, client_id="test")

    async def __aenter__(self) -> KafkaProducer:
        await self._producer.start()
        return self._producer

    async def __aexit__(self, *_: object) -> None:
        await self._producer.close()
