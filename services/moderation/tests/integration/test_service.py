"""The service as started in production: points over gRPC, texts of offers over Kafka."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import grpc
import pytest

from classifeed.moderation.v1.moderation_service_pb2 import CheckTextRequest, GetSubjectRequest, ListPendingRequest
from classifeed.moderation.v1.offer_texts_pb2 import OfferText, TextsToJudge
from classifeed.moderation.v1.subject_pb2 import (
    MODERATION_STATUS_DISAPPROVED,
    SUBJECT_KIND_OFFER,
    SUBJECT_KIND_POINT,
)
from classifeed.points.v1.point_pb2 import Author, Location
from classifeed.points.v1.point_service_pb2 import (
    AddCommentRequest,
    DeletePointRequest,
    GetPointRequest,
    ListPointsRequest,
    VoteRequest,
)
from classifeed_common.kafka import KafkaProducer, message_of
from classifeed_devkit.testing.recovery import until
from classifeed_domain.topics import MODERATION_REQUESTS
from classifeed_moderation.domain.verdicts import Verdict, to_json

from ..conftest import END, PEOPLE, result, verdict
from .conftest import Service

pytestmark = pytest.mark.kafka
BAD = "text_toloka_obscene"


async def test_a_point_is_judged_by_the_process_that_took_it(service: Service) -> None:
    service.stand_in.content = result(verdict("police"), END)
    name = await service.create()

    await until(lambda: service.is_served(name))
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


async def test_what_waits_is_listed_by_region_and_by_verdict(service: Service) -> None:
    service.stand_in.content = PEOPLE
    keys = [await service.create(f"wait {region}", regions=(region, 225)) for region in (1, 2)]
    await service.rows(
        "UPDATE subjects SET verdicts = %s WHERE text = 'wait 2' RETURNING 1",
        json.dumps(to_json([Verdict(BAD)])),
    )

    async def listed(**changes: Any) -> list[str]:
        request = ListPendingRequest(kind=SUBJECT_KIND_POINT, **changes)
        return [f"points/{subject.key}" for subject in (await service.moderation.ListPending(request)).subjects]

    assert sorted(await listed(region_id=225)) == sorted(keys)
    assert await listed(region_id=1) == keys[:1]
    assert await listed(region_id=3) == []
    assert await listed(verdict=BAD) == keys[1:]
    assert await listed(verdict=BAD, region_id=1) == []


async def test_check_stores_nothing(service: Service) -> None:
    service.stand_in.content = result(verdict(BAD), END)
    checked = await service.moderation.CheckText(CheckTextRequest(text="bad", kind=SUBJECT_KIND_POINT))
    assert (checked.status, checked.ban.rule) == (MODERATION_STATUS_DISAPPROVED, BAD)
    for table in ("subjects", "decisions", "outbox", "verdict_cache"):
        assert await service.rows(f"SELECT count(*) FROM {table}") == [(0,)]
    assert [request.params["key"].partition("~")[0] for request in service.stand_in.requests] == ["check"]
    assert service.stand_in.requests[-1].params["body"]["dry_run"] is True  # so that nobody reviews it
    await service.moderation.CheckText(CheckTextRequest(text="bad", kind=SUBJECT_KIND_OFFER))
    assert service.stand_in.requests[-1].params["key"].startswith("offer/")  # so that it is judged as an offer


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

    async def judged() -> dict[str, str]:
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
