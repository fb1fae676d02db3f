"""Logs from INFO up never contain a user's text, in any outcome; they contain keys, rules and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from logging import getLogger
from typing import Any
from uuid import uuid4

import grpc
import pytest
import structlog

from classifeed.moderation.v1.moderation_service_pb2 import AppealRequest, CheckTextRequest, SubmitTextsRequest
from classifeed.moderation.v1.offer_texts_pb2 import OfferText, TextsToJudge
from classifeed.moderation.v1.subject_pb2 import SUBJECT_KIND_OFFER
from classifeed.points.v1.point_pb2 import Author, Location
from classifeed.points.v1.point_service_pb2 import AddCommentRequest, CreatePointRequest
from classifeed_common.kafka import message_of
from classifeed_common.telemetry.logging import configure_logging
from classifeed_devkit.testing.recovery import until
from classifeed_domain.topics import MODERATION_REQUESTS

from ..conftest import END, PEOPLE, Moderation, errors, result, verdict
from .conftest import Service
from .test_service import Producer

SECRET = "zebrafish"
TEXT = f"call the {SECRET} now"
BAD = "text_auto_contacts"
SPANS = [{"start": 9, "end": 18, "excerpt": SECRET}]


@pytest.fixture
def lines() -> Iterator[StringIO]:
    """Yield the process's log at INFO, with the production configuration."""
    written = StringIO()
    root = getLogger()
    former, level = root.handlers[:], root.level
    configure_logging("moderation", level="info", stream=written)
    yield written
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers[:] = former
    root.setLevel(level)


def events_of(lines: StringIO) -> set[str]:
    """Return the names of the logged events; none of them contains the secret."""
    assert SECRET not in lines.getvalue()
    return {json.loads(line)["event"] for line in lines.getvalue().splitlines()}


def echo(text: str) -> dict[str, bytes]:
    """Return responses that quote the text wherever a verdict service may put words, by name of the place."""
    error = {"code": -32000, "message": f"cannot judge {text!r}", "data": text}
    return {
        "refused": result(verdict(BAD, spans=SPANS), END),
        "unknown verdict": result(verdict("text_auto_novelty", spans=SPANS), END),
        "no end": result(verdict(BAD, spans=SPANS)),
        "people": PEOPLE,
        "error": json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode(),
        "error in words": json.dumps({"jsonrpc": "2.0", "id": 1, "error": text}).encode(),
        "errors": errors(**{"clean-web": text, text: "timeout"}),
        "no list": json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"verdicts": text}}).encode(),
        "no verdict": json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"verdicts": [{"name": {text: 1}}]}}).encode(),
        "no JSON": text.encode(),
    }


@pytest.mark.parametrize("response", echo(TEXT))
async def test_of_a_text_that_is_judged(moderation: Moderation, lines: StringIO, response: str) -> None:
    moderation.stand_in.content = echo(TEXT)[response]
    moderation.start()
    await moderation.create_point(TEXT)
    await until(lambda: not moderation.queue._known)
    expected = {
        "unknown verdict": {"moderation.verdict.unknown"},
        "no end": {"moderation.verdicts.no_end"},
        "refused": set[str](),
        "people": set[str](),
    }
    assert events_of(lines) == expected.get(response, {"moderation.request.failed"})


async def test_of_a_text_of_another_key(moderation: Moderation, lines: StringIO) -> None:
    await moderation.apply(uuid4(), BAD)
    assert events_of(lines) == {"moderation.verdicts.unknown_key"}


@pytest.mark.kafka
async def test_of_the_running_service(lines: StringIO, service: Service) -> None:
    """Stored, judged, refused, commented, checked, submitted, appealed and called back, and with errors."""
    service.stand_in.respond = lambda _: result(verdict(BAD, spans=SPANS), END)
    key = (await service.create(TEXT)).removeprefix("points/")

    async def is_refused() -> bool:
        return await service.rows("SELECT count(*) FROM subjects WHERE status = 'DISAPPROVED'") == [(1,)]

    await until(is_refused)
    await service.moderation.Appeal(AppealRequest(key=key, author_id="a", reason=TEXT))
    await service.moderation.CheckText(CheckTextRequest(text=TEXT, kind=SUBJECT_KIND_OFFER))
    await service.points.AddComment(
        AddCommentRequest(parent=f"points/{key}", author=Author(author_id="b"), text=TEXT, request_id="1")
    )
    offer = OfferText(external_id="1", text_hash=bytes(16), title=TEXT, description=TEXT, content_version=1)
    texts = TextsToJudge(seller_id="seller", namespace="default", texts=[offer])
    await service.moderation.SubmitTexts(SubmitTextsRequest(texts=texts))
    async with Producer(service.kafka) as producer:
        await producer.send([message_of(MODERATION_REQUESTS, b"seller", texts)])
    for content, status in _callbacks(key):
        assert (await service.call_back(content=json.dumps(content))).status_code == status
    assert (await service.call_back(content=TEXT)).status_code == 400
    assert (await service.call_back(content=json.dumps({"verdicts": []}), token=TEXT)).status_code == 401
    service.stand_in.respond = lambda _: echo(TEXT)["error"]
    wrong: list[Any] = [
        service.points.CreatePoint(_point(TEXT * 10_000)),
        service.points.CreatePoint(_point(f"{TEXT}\0")),
        service.points.CreatePoint(_point(TEXT, latitude=500)),
        service.moderation.CheckText(CheckTextRequest(text=TEXT)),
        service.moderation.CheckText(CheckTextRequest(text=TEXT, kind=SUBJECT_KIND_OFFER)),
        service.moderation.Appeal(AppealRequest(key="unknown", author_id="a", reason=TEXT)),
    ]
    for call in wrong:
        with pytest.raises(grpc.aio.AioRpcError):
            await call
    events = events_of(lines)
    assert {"rpc.call.refused", "moderation.verdicts.unknown_key"} <= events


def _callbacks(key: str) -> list[tuple[Any, int]]:
    return [
        ({"verdicts": [verdict(BAD, key=key, spans=SPANS, source=TEXT), {**END, "key": key}]}, 200),
        ({"verdicts": [verdict(BAD, key="unknown", spans=SPANS)]}, 200),
        ({"verdicts": [verdict("text_auto_spam", key=key, entity=TEXT)]}, 200),
        ({"verdicts": TEXT}, 400),
        ({"verdicts": [TEXT]}, 400),
        ({"verdicts": [{"name": [TEXT], "key": key}]}, 400),
        ({TEXT: TEXT}, 400),
    ]


def _point(description: str, *, latitude: float = 1) -> CreatePointRequest:
    return CreatePointRequest(
        point_id=str(uuid4()),
        author=Author(author_id="a"),
        description=description,
        location=Location(latitude=latitude, longitude=2),
    )
