"""The event log: the contents of `moderation.events.v1` and of the table for each path to a decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from classifeed.moderation.v1.events_pb2 import ModerationEvent
from classifeed.moderation.v1.moderation_service_pb2 import ListEventsRequest
from classifeed.moderation.v1.subject_pb2 import (
    DECISION_MAKER_EXEMPTION,
    DECISION_MAKER_REVIEWER,
    DECISION_MAKER_RULE,
    MODERATION_STATUS_APPROVED,
    MODERATION_STATUS_DISAPPROVED,
    SUBJECT_KIND_COMMENT,
    SUBJECT_KIND_OFFER,
    SUBJECT_KIND_POINT,
    Decision,
)
from classifeed.moderation.v1.subject_pb2 import Verdict as VerdictMessage
from classifeed_common.clock import SystemClock
from classifeed_moderation.app.decisions.apply_verdicts import Arrived
from classifeed_moderation.app.points.comment_point import comment_point
from classifeed_moderation.domain.points import Author, AuthorRole
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.domain.verdicts import VerdictList, parse_callback
from classifeed_moderation.rpc.messages import verdicts_of
from classifeed_moderation.rpc.moderation_service.events import EventMethods

from ...conftest import END, NO_CONTEXT, MakeModeration, Moderation, verdict
from ..rejudger import rules_with
from .test_appeals import refuse_on_appeal
from .test_rejudging import slice_of
from .test_verdicts import KEY, send

BAD, INSULT = "text_auto_obscene", "text_auto_insult"
APPROVED, REFUSED = MODERATION_STATUS_APPROVED, MODERATION_STATUS_DISAPPROVED


async def events(moderation: Moderation) -> list[tuple[bytes, ModerationEvent]]:
    """Return the messages in the outbox, with their keys."""
    rows = await moderation.rows("SELECT key, value FROM outbox WHERE topic = 'moderation.events.v1' ORDER BY id")
    return [(bytes(key), ModerationEvent.FromString(value)) for key, value in rows]


async def newest(moderation: Moderation) -> ModerationEvent:
    return (await events(moderation))[-1][1]


async def logged(moderation: Moderation, key: str = "") -> list[Decision]:
    response = await EventMethods(moderation.database).ListEvents(ListEventsRequest(key=key), NO_CONTEXT)
    return list(response.decisions)


async def comment(moderation: Moderation, point_id: UUID) -> str:
    index = await comment_point(
        moderation.database,
        moderation.store_texts,
        point_id=point_id,
        author=Author("a", AuthorRole.USER),
        text="seen",
        request_id="1",
    )
    return f"{point_id}/{index}"


async def call_back(moderation: Moderation, key: str, *names: str, source: str, request_id: str = "") -> None:
    """Apply a callback as its sender writes it, including the end verdict."""
    items = [verdict(name, key=key, source=source) for name in names]
    found = parse_callback([*items, {**END, "key": key, "source": source}])
    await moderation.record_verdicts([Arrived(key, found[key], request_id)])


async def test_a_point(moderation: Moderation) -> None:
    point_id = await moderation.create_point(tags=("other",))
    await moderation.apply(point_id, "police", "request")
    [(key, event)] = await events(moderation)
    assert (key, event.name) == (str(point_id).encode(), "point_moderated")
    assert (event.value.kind, event.value.status) == (SUBJECT_KIND_POINT, APPROVED)
    assert [item.name for item in event.value.verdicts] == ["police", "request"]
    assert list(event.value.tags_before.names) == ["other"]
    assert list(event.value.tags_after.names) == ["police", "speed_control"]


async def test_a_point_without_tags_has_the_fields_all_the_same(moderation: Moderation) -> None:
    point_id = await moderation.create_point(tags=())
    await moderation.apply(point_id, BAD)
    event = await newest(moderation)
    assert (event.name, event.value.status) == ("point_moderated", REFUSED)
    assert (event.value.HasField("tags_before"), event.value.HasField("tags_after")) == (True, True)
    assert (list(event.value.tags_before.names), list(event.value.tags_after.names)) == ([], [])


async def test_a_comment_has_no_tags(moderation: Moderation) -> None:
    key = await comment(moderation, await moderation.create_point())
    await moderation.apply(key, "police")
    event = await newest(moderation)
    assert (event.name, event.value.kind, event.value.status) == ("comment_moderated", SUBJECT_KIND_COMMENT, APPROVED)
    assert [item.name for item in event.value.verdicts] == ["police"]
    assert (event.value.HasField("tags_before"), event.value.HasField("tags_after")) == (False, False)
    assert await logged(moderation, key) == [event.value]


async def test_an_offer(moderation: Moderation) -> None:
    await moderation.apply(await send(moderation, "lamp", version=7), BAD)
    [(key, event)] = await events(moderation)
    assert (key, event.name, event.value.kind) == (KEY.encode(), "offer_moderated", SUBJECT_KIND_OFFER)
    assert (event.value.content_version, event.value.status, event.value.rule) == (7, REFUSED, BAD)
    assert (event.value.HasField("tags_before"), event.value.HasField("tags_after")) == (False, False)


async def test_an_exempt_point(moderation: Moderation) -> None:
    await moderation.create_point("", tags=("other",))
    value = (await newest(moderation)).value
    assert (value.maker, value.automatic, value.rule) == (DECISION_MAKER_EXEMPTION, True, "empty_text")
    assert (value.rule_set, list(value.verdicts), list(value.tags_after.names)) == ("", [], ["other"])


async def test_what_changes_nothing_makes_no_event(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, BAD)
    before = await events(moderation)
    await moderation.apply(point_id, BAD)  # a repetition
    await moderation.apply(point_id)  # the point is removed
    await moderation.apply(await send(moderation, "lamp"), "police", has_end=False)
    assert await events(moderation) == before
    kept = [(each.applied, each.not_applied_reason) for each in await logged(moderation)]
    assert kept == [(True, ""), (False, "ALREADY_DISAPPROVED"), (False, "INCOMPLETE")]


async def test_the_record_of_automatic_verdicts_is_whole(moderation: Moderation) -> None:
    spans = [{"start": 2, "end": 5, "excerpt": "bad"}]
    sent = await send(moderation, "a bad lamp", version=3)
    before = moderation.clock.now()
    found = parse_callback([verdict(BAD, key=sent, source="automatic", spans=spans), {**END, "key": sent}])
    await moderation.record_verdicts([Arrived(sent, found[sent], "callback-1")])
    [value] = await logged(moderation)
    assert (value.key, value.content_version, value.supersedes_id, value.request_id) == (KEY, 3, 0, "callback-1")
    assert (value.rule, value.rule_set, value.region_id) == (BAD, moderation.rules.version, 0)
    assert (value.maker, value.reviewer, value.automatic) == (DECISION_MAKER_RULE, "", True)
    [evidence] = value.verdicts
    assert (evidence.name, evidence.source, evidence.entity) == (BAD, "automatic", "text")
    assert [(span.start, span.end, span.excerpt) for span in evidence.spans] == [(2, 5, "bad")]
    assert before <= value.decide_time.ToDatetime(UTC) <= moderation.clock.now()
    assert (await newest(moderation)).value == value


async def test_the_record_names_the_region_whose_rule_decided(moderation: Moderation) -> None:
    cases: list[dict[str, Any]] = [{"allowed": False, "regions": [2]}, {"allowed": True}]
    moderation.rules = rules_with(**{INSULT: cases})
    point_id = await moderation.create_point(regions=(1, 2, 100))
    await moderation.apply(point_id, INSULT)
    assert [(each.status, each.region_id) for each in await logged(moderation)] == [(REFUSED, 2)]


async def test_when_it_was_decided_stands_apart_from_when_it_was_recorded(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    decided_at = moderation.clock.now().replace(year=2020)
    moderation.record_verdicts._deciding = replace(moderation.deciding, clock=Past(decided_at))
    await moderation.record_verdicts([Arrived(str(point_id), VerdictList(has_end=True))])
    [value] = await logged(moderation)
    assert value.decide_time.ToDatetime(UTC) == decided_at
    assert value.record_time.ToDatetime(UTC).year > 2020
    assert (await newest(moderation)).value == value


class Past(SystemClock):
    """A clock that does not move."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at


@pytest.mark.parametrize("names", [("text_auto_spam",), ("police",), ()])
@pytest.mark.parametrize(("source", "is_automatic"), [("people", False), ("automatic", True)])
async def test_a_verdict_of_people_is_told_apart(
    moderation: Moderation, *, names: tuple[str, ...], source: str, is_automatic: bool
) -> None:
    """Even if people found nothing, so that the decision has no verdicts."""
    point_id = await moderation.create_point()
    await call_back(moderation, str(point_id), *names, source=source, request_id="callback-1")
    [value] = await logged(moderation)
    assert (value.automatic, value.maker) == (is_automatic, DECISION_MAKER_RULE)
    assert (await newest(moderation)).value == value


async def test_one_person_among_automatic_verdicts_makes_it_a_persons(moderation: Moderation) -> None:
    point_id = await moderation.create_point()
    await moderation.apply(point_id, "text_toloka_insult", "text_auto_light_threat")
    assert [each.automatic for each in await logged(moderation)] == [False]


async def test_a_verdict_of_people_counts_whoever_says_the_end(moderation: Moderation) -> None:
    point_id = str(await moderation.create_point())
    found = parse_callback(
        [verdict("police", key=point_id, source="people"), {**END, "key": point_id, "source": "automatic"}]
    )
    await moderation.record_verdicts([Arrived(point_id, found[point_id])])
    assert [each.automatic for each in await logged(moderation)] == [False]


async def test_an_operators_verdicts_are_a_persons(moderation: Moderation) -> None:
    for name in ("police", "clean_web_moderation_end"):
        read = verdicts_of([VerdictMessage(name=name, source="operator")], has_end=True)
        assert (read.is_from_people, read.has_end) == (True, True)
    assert not verdicts_of([VerdictMessage(name="police", source="automatic")], has_end=True).is_from_people


@pytest.mark.parametrize(("source", "is_automatic"), [("people", False), ("automatic", True)])
async def test_an_equal_text_is_decided_as_the_first_one_was(
    make_moderation: MakeModeration, *, source: str, is_automatic: bool
) -> None:
    """Decided by kept verdicts without a request; verdicts of people stay marked as theirs."""
    moderation = await make_moderation(kept_s=3600.0)
    first = await moderation.create_point("the same")
    await call_back(moderation, str(first), source=source)
    second = await moderation.create_point("the  SAME")
    await moderation.advance(100.0)
    await moderation.corrector.round(Kind.POINT)
    [_, value] = await logged(moderation)
    assert (value.key, value.status, value.automatic) == (str(second), APPROVED, is_automatic)
    assert moderation.stand_in.requests == []


async def test_the_record_of_a_reviewer_is_whole(moderation: Moderation) -> None:
    decision = await refuse_on_appeal(moderation, "ann")
    [first, second] = await logged(moderation)
    assert second == decision
    assert (second.maker, second.reviewer, second.automatic) == (DECISION_MAKER_REVIEWER, "ann", False)
    assert second.supersedes_id == first.decision_id
    assert (await newest(moderation)).value == decision


@pytest.mark.parametrize(("source", "is_automatic"), [("people", False), ("automatic", True)])
async def test_the_record_of_a_rejudgement_is_whole(moderation: Moderation, *, source: str, is_automatic: bool) -> None:
    moderation.rules = rules_with("old", **{INSULT: [{"allowed": True}]})
    point_id = await moderation.create_point()
    await call_back(moderation, str(point_id), INSULT, source=source, request_id="callback-1")
    await slice_of(moderation, rules_with("new"))
    [first, second] = await logged(moderation)
    assert (second.status, second.rule, second.rule_set) == (REFUSED, INSULT, "new")
    assert (second.maker, second.supersedes_id, second.request_id) == (DECISION_MAKER_RULE, first.decision_id, "")
    assert (first.automatic, second.automatic) == (is_automatic, is_automatic)
    assert second.verdicts == first.verdicts
    assert (await newest(moderation)).value == second


async def test_pages_of_the_log(moderation: Moderation) -> None:
    keys = [await moderation.create_point(f"text {number}") for number in range(5)]
    for key in keys:
        await moderation.apply(key)
    read: list[str] = []
    after = 0
    while True:
        request = ListEventsRequest(after_decision_id=after, page_size=2)
        page = (await EventMethods(moderation.database).ListEvents(request, NO_CONTEXT)).decisions
        if not page:
            break
        read += [each.key for each in page]
        after = page[-1].decision_id
    assert read == [str(key) for key in keys]
