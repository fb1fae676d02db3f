"""Facts to explain, and what every explanation has."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import protovalidate

from classifeed.feeds.v1 import explanation_pb2, load_pb2, task_pb2
from classifeed.feeds.v1.explanation_pb2 import ExplanationStage, ExplanationState, OfferExplanation
from classifeed.feeds.v1.feed_pb2 import FeedSourceState, Fetch
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import OfferLocation, OfferPlace
from classifeed.offers.v1 import offer_pb2
from classifeed.offers.v1.offer_pb2 import Offer, OfferContent, OfferPicture
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed.search.v1.search_service_pb2 import Hit
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_api.domain.uploads import Upload
from classifeed_api.explain.facts import Facts, Link, Look, Source
from classifeed_common.fetch import FETCH_FAULTS
from classifeed_domain.offer_names import OfferName

NAME = OfferName("shop", "default", "B")
AT = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
SECOND = 1_000_000
NOW_MICROS = int(AT.timestamp()) * SECOND
STAGES = [value for value in ExplanationStage.values() if value]


def task(number: int, status: str = "SUCCEEDED", **fields: Any) -> Task:
    made = Task(
        **{
            "name": f"{NAME.parent}/tasks/{number}",
            "task_id": number,
            "status": f"TASK_STATUS_{status}",
            "kind": task_pb2.TASK_KIND_LOAD,
            "phase": task_pb2.TASK_PHASE_DONE,
            "mode": load_pb2.LOAD_MODE_REPLACE,
            "run": 1,
            "format": "yml",
            "expected_total": 12,
            "file_name": "f.yml",
            "upload_id": "u",
            **fields,
        }
    )
    made.create_time.FromMicroseconds(NOW_MICROS - 30 * SECOND)
    if status not in {"IN_PROGRESS", "HELD"}:
        made.end_time.FromMicroseconds(NOW_MICROS - 10 * SECOND)
    return made


def located(*lines: int, batch: int = 3, has_reply: bool = True) -> OfferLocation:
    made = OfferLocation(batch_id=batch if lines else 0)
    made.check_time.FromMicroseconds(NOW_MICROS - 26 * SECOND)
    for line in lines:
        made.places.append(OfferPlace(ordinal=line - 3, line=line, column=1, excerpt=f'<offer id="B"> {line}'))
    if lines and batch:
        made.send_time.FromMicroseconds(NOW_MICROS - 25 * SECOND)
        if has_reply:
            made.answer_time.FromMicroseconds(NOW_MICROS - 20 * SECOND)
    return made


def issue(code: str, level: str = "ERROR", kind: str = "VALIDATION", line: int = 5) -> OfferError:
    return OfferError(
        external_id="B",
        level=f"ISSUE_LEVEL_{level}",
        kind=f"ISSUE_KIND_{kind}",
        code=code,
        line=line,
        column=7,
        excerpt="<price>дорого</price>",
        title=code.lower(),
        message=f"What {code} says.",
        suggestion=f"Mend {code}.",
    )


def kept(status: str = "ACTIVE", load: int = 7, change: str = "ADDED", **fields: Any) -> Offer:
    version = NOW_MICROS - 24 * SECOND
    made = Offer(
        **{
            "external_id": "B",
            "status": f"OFFER_STATUS_{status}",
            "origin": offer_pb2.OFFER_ORIGIN_FEED,
            "last_task_id": load,
            "last_change": f"OFFER_CHANGE_{change}",
            "version": version,
            "published_version": version,
            "moderation": "setting",
            "content": OfferContent(category_id="1", category_path=["Мебель", "Стулья"], address="Тверь"),
            **fields,
        }
    )
    made.update_time.FromMicroseconds(version)
    return made


def picture(state: str, url: str = "https://a/1.jpg", reason: str = "The server answers with 404") -> OfferPicture:
    made = OfferPicture(url=url, state=f"OFFER_PICTURE_STATE_{state}")
    made.request_time.FromMicroseconds(NOW_MICROS - 60 * SECOND)
    if state == "FAILED":
        made.failure.CopyFrom(LoadFailure(code="HTTP_NOT_FOUND", message=reason))
    return made


def found(seconds_ago: int = 24) -> Hit:
    made = Hit(pk=NAME.document_pk, version=NOW_MICROS - seconds_ago * SECOND)
    made.compose_time.FromMicroseconds(NOW_MICROS - (seconds_ago - 1) * SECOND)
    made.index_time.FromMicroseconds(NOW_MICROS - (seconds_ago - 2) * SECOND)
    return made


def link(outcome: str = "FAILED", code: str = "HTTP_NOT_FOUND", failures: int = 1, *, is_paused: bool = False) -> Link:
    """Return a feed whose newest fetch ended one minute ago, and whose next fetch is due in ten."""
    state = FeedSourceState(feed_version=3, failures=failures)
    if outcome:
        failed = outcome == "FAILED"
        state.last_fetch.CopyFrom(Fetch(outcome=f"FETCH_OUTCOME_{outcome}"))
        state.last_fetch.code = code if failed else ""
        state.last_fetch.message = f"The site said no. {FETCH_FAULTS[code].suggestion}" if failed else ""
        state.last_fetch.create_time.FromMicroseconds(NOW_MICROS - 62 * SECOND)
        if outcome not in {"QUEUED", "RUNNING"}:
            state.last_fetch.end_time.FromMicroseconds(NOW_MICROS - 60 * SECOND)
    if not is_paused:
        state.next_fetch_time.FromMicroseconds(NOW_MICROS + 600 * SECOND)
    return Link(state, is_paused)


UPLOAD = Upload(UUID(int=1), "shop", "default", 1, 1, "f.yml", "a" * 64, 1234, 7, AT - timedelta(seconds=31))


def facts(
    load: Look | Unknown | None = UNKNOWN,
    offer: Offer | Unknown | None = None,
    document: Hit | Unknown | None = None,
    source: Source = UPLOAD,
    **fields: Any,
) -> Facts:
    return Facts(
        **{
            "name": NAME,
            "load": load,
            "newer": None,
            "before": None,
            "lacking": [],
            "source": source,
            "link": None,
            "offer": offer,
            "document": document,
            "requested_at": AT,
            **fields,
        }
    )


def states_of(explanation: OfferExplanation) -> dict[str, str]:
    return {
        ExplanationStage.Name(step.stage).removeprefix("EXPLANATION_STAGE_"): ExplanationState.Name(
            step.state
        ).removeprefix("EXPLANATION_STATE_")
        for step in explanation.steps
    }


def step_of(explanation: OfferExplanation, stage: str) -> explanation_pb2.ExplanationStep:
    return explanation.steps[STAGES.index(ExplanationStage.Value(f"EXPLANATION_STAGE_{stage}"))]


def assert_sound(explanation: OfferExplanation) -> None:
    protovalidate.validate(explanation)
    assert [step.stage for step in explanation.steps] == STAGES
    states = [step.state for step in explanation.steps]
    stopped = explanation_pb2.EXPLANATION_STATE_STOPPED
    assert states.count(stopped) <= 1
    if stopped in states:
        at = states.index(stopped)
        beyond = {
            step.stage
            for step in explanation.steps[at + 1 :]
            if step.state != explanation_pb2.EXPLANATION_STATE_SKIPPED
        }
        assert beyond <= {explanation_pb2.EXPLANATION_STAGE_APPLIED}, (
            "all are skipped, except the one that shows the removal"
        )
        assert explanation.steps[at].code
        assert explanation.suggestion
        assert explanation.fate not in {explanation_pb2.OFFER_FATE_SEARCHABLE, explanation_pb2.OFFER_FATE_ON_ITS_WAY}
    assert explanation_pb2.EXPLANATION_STATE_UNSPECIFIED not in states
    assert all(step.text.strip() for step in explanation.steps)
    assert explanation.fate
    assert explanation.summary.strip()
    times = [step.time.ToNanoseconds() for step in explanation.steps if step.HasField("time")]
    assert times == sorted(times), "no stage is passed before the previous one"
    for text in (explanation.summary, *(step.text for step in explanation.steps)):
        assert not re.search(r"\s\s|[{}]|\bNone\b(?! of)", text), text
    assert (explanation.fate == explanation_pb2.OFFER_FATE_SEARCHABLE) is (
        states[-1] in {explanation_pb2.EXPLANATION_STATE_DONE, explanation_pb2.EXPLANATION_STATE_WARNING}
        and explanation.fate != explanation_pb2.OFFER_FATE_LOAD_FAILED
    )
