"""Commands of moderation, points and reviews: their requests, output and exit codes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.cleanweb.v1 import cleanweb_service_pb2
from classifeed.moderation.v1 import moderation_service_pb2, subject_pb2
from classifeed.points.v1 import point_pb2, point_service_pb2
from classifeed_cli.exit_codes import ExitCode

POINT_ID = "0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"
KEY = "offer/my-shop/default/S-016"
VERDICT = {"name": "text_auto_contacts", "source": "contacts.phone", "entity": "text",
           "spans": [{"start": 11, "end": 27, "excerpt": "8 900 123 45 67"}]}  # fmt: skip
DECISION = {
    "decision_id": 41, "key": KEY, "kind": "SUBJECT_KIND_OFFER", "content_version": 3,
    "status": "MODERATION_STATUS_DISAPPROVED", "verdicts": [VERDICT], "rule": "contacts", "rule_set": "3f2a90b1",
    "maker": "DECISION_MAKER_RULE", "automatic": True, "applied": True, "supersedes_id": 17,
    "decide_time": "2026-11-24T09:00:05Z", "record_time": "2026-11-24T09:00:06Z",
}  # fmt: skip
LATE = {
    **DECISION, "decision_id": 43, "status": "MODERATION_STATUS_APPROVED", "verdicts": [], "rule": "", "applied": False,
    "not_applied_reason": "the text was changed since", "supersedes_id": 0, "maker": "DECISION_MAKER_REVIEWER",
    "automatic": False, "reviewer": "ann",
}  # fmt: skip
SUBJECT = {
    "key": KEY, "kind": "SUBJECT_KIND_OFFER", "text": "Oak bench\ncall 8 900 123 45 67", "content_version": 3,
    "region_ids": [213, 225],
    "moderation": {"status": "MODERATION_STATUS_DISAPPROVED", "start_time": "2026-11-24T09:00:00Z",
                   "verdicts": [VERDICT]},
}  # fmt: skip
SHOWN_POINT = {
    "name": f"points/{POINT_ID}", "author": {"author_id": "driver-7", "role": "AUTHOR_ROLE_USER"},
    "tags": ["accident", "police"], "description": "Two cars on the left lane",
    "location": {"latitude": 55.75, "longitude": 37.62}, "region_ids": [213], "votes_for": 3, "votes_against": 1,
    "version": 5, "moderation": {"status": "MODERATION_STATUS_APPROVED"}, "create_time": "2026-11-24T09:00:00Z",
    "comments": [{"name": f"points/{POINT_ID}/comments/0", "text": "Police is there",
                  "author": {"author_id": "driver-9", "role": "AUTHOR_ROLE_USER"},
                  "moderation": {"status": "MODERATION_STATUS_PENDING"}}],
}  # fmt: skip


@pytest.fixture
def moderated(api: Any) -> Any:
    api.respond("GetSubject", ParseDict(SUBJECT, subject_pb2.Subject()))
    events = {"decisions": [DECISION, LATE]}
    api.respond("ListEvents", ParseDict(events, moderation_service_pb2.ListEventsResponse()))
    return api


def waiting(key: str, kind: str, minutes: float) -> dict[str, Any]:
    started = datetime.now(UTC) - timedelta(minutes=minutes)
    moderation = {"status": "MODERATION_STATUS_PENDING", "start_time": started.isoformat(),
                  "next_retry_time": "2026-11-24T09:10:00Z"}  # fmt: skip
    return {"key": key, "kind": kind, "moderation": moderation}


def test_pending_lists_every_kind_and_says_that_there_are_more(api: Any, terminal: Any, snapshot: Any) -> None:
    pages: list[dict[str, Any]] = [
        {"subjects": [waiting(POINT_ID, "SUBJECT_KIND_POINT", 63)]},
        {"subjects": []},
        {"subjects": [waiting(KEY, "SUBJECT_KIND_OFFER", 61)], "next_page_token": "more"},
    ]
    api.respond("ListPending", *(ParseDict(page, moderation_service_pb2.ListPendingResponse()) for page in pages))
    snapshot("moderation-pending", terminal("moderation", "pending", "--limit", "1"))
    assert [request.kind for request in api.requests["ListPending"]] == [1, 2, 3]
    only = terminal("moderation", "pending", "--kind", "offer", "--limit", "1", "--json").document
    assert [subject["key"] for subject in only["subjects"]] == [KEY]
    api.respond("ListPending", moderation_service_pb2.ListPendingResponse())
    terminal("moderation", "pending", "--kind", "point", "--region", "225", "--verdict", "text_toloka_ad")
    request = api.requests["ListPending"][-1]
    assert (request.region_id, request.verdict) == (225, "text_toloka_ad")
    assert terminal("moderation", "pending").out == "no text waits for a verdict\n"


def test_show_has_every_decision_and_why_one_has_no_effect(moderated: Any, terminal: Any, snapshot: Any) -> None:
    snapshot("moderation-show", terminal("moderation", "show", KEY))
    document = terminal("moderation", "show", KEY, "--json").document
    assert document["moderation"]["status"] == "DISAPPROVED"
    assert [decision["applied"] for decision in document["decisions"]] == [True, False]
    assert moderated.requests["ListEvents"][0].key == KEY


def test_check_ends_with_1_unless_the_text_would_be_approved(api: Any, terminal: Any, snapshot: Any) -> None:
    ban = {"rule": "contacts", "field": "title", "message": "The title has a phone number: 8 900 123 45 67.",
           "suggestion": "Leave the number out: buyers see yours beside the offer."}  # fmt: skip
    refused = {"status": "MODERATION_STATUS_DISAPPROVED", "verdicts": [VERDICT], "ban": ban}
    api.respond("CheckText", ParseDict(refused, moderation_service_pb2.CheckTextResponse()))
    ended = terminal("moderation", "check", "Oak bench, call 8 900 123 45 67", "--region", "213")
    snapshot("moderation-check", ended)
    assert ended.exit_code == ExitCode.REFUSED
    [request] = api.requests["CheckText"]
    assert (request.kind, list(request.region_ids)) == (subject_pb2.SUBJECT_KIND_OFFER, [213])
    api.respond("CheckText", moderation_service_pb2.CheckTextResponse(status="MODERATION_STATUS_APPROVED"))
    assert terminal("moderation", "check", "Oak bench").exit_code == ExitCode.DONE
    api.respond("CheckText", moderation_service_pb2.CheckTextResponse(status="MODERATION_STATUS_PENDING"))
    assert terminal("moderation", "check", "Oak bench").out == "people would have to review it\n"


def test_apply_sends_verdicts_with_their_end_unless_more_come(api: Any, terminal: Any, snapshot: Any) -> None:
    api.respond("GetSubject", subject_pb2.Subject(key=KEY, text_hash=bytes(range(16))))
    applied = {"decisions": [DECISION]}
    api.respond("ApplyVerdicts", ParseDict(applied, moderation_service_pb2.ApplyVerdictsResponse()))
    snapshot("moderation-apply", terminal("moderation", "apply", KEY, "text_auto_contacts"))
    terminal("moderation", "apply", KEY, "text_auto_contacts", "--partial")
    terminal("moderation", "apply", KEY)
    sent = [request.texts[0] for request in api.requests["ApplyVerdicts"]]
    end = "clean_web_moderation_end"
    assert [([verdict.name for verdict in text.verdicts], text.has_end) for text in sent] == [
        (["text_auto_contacts", end], True), (["text_auto_contacts"], False), ([end], True),
    ]  # fmt: skip
    assert {text.key for text in sent} == {f"{KEY}~000102030405060708090a0b0c0d0e0f"}, "of the text as it is now"
    assert {verdict.source for text in sent for verdict in text.verdicts} == {"operator"}
    for whole in ("0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b", f"{KEY}~00"):
        terminal("moderation", "apply", whole)
        assert api.requests["ApplyVerdicts"][-1].texts[0].key == whole
    assert terminal("moderation", "apply", KEY, "--partial").exit_code == ExitCode.USAGE
    api.respond("ApplyVerdicts", moderation_service_pb2.ApplyVerdictsResponse(unknown_keys=[KEY]))
    ended = terminal("moderation", "apply", KEY, "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (ExitCode.REFUSED, "TEXT_NOT_FOUND")


def test_rejudge_waits_for_the_end_and_can_be_waited_for_again(api: Any, terminal: Any, snapshot: Any) -> None:
    begun = {"request_id": "r1", "dry_run": True}
    change = {"kind": "SUBJECT_KIND_OFFER", "region_id": 225, "rule": "insult",
              "status": "MODERATION_STATUS_DISAPPROVED", "texts": 31}  # fmt: skip
    done = {**begun, "judged": 120_000, "changes": [change], "done": True}
    api.respond("Rejudge", ParseDict(begun, moderation_service_pb2.Rejudgement()))
    api.respond("GetRejudgement", *(ParseDict(each, moderation_service_pb2.Rejudgement()) for each in (begun, done)))
    snapshot("moderation-rejudge", terminal("moderation", "rejudge", "--dry-run", "--kind", "offer"))
    [request] = api.requests["Rejudge"]
    assert (request.kind, request.dry_run) == (subject_pb2.SUBJECT_KIND_OFFER, True)
    assert terminal("moderation", "rejudge", "--request", "r1", "--json").document["judged"] == "120000"
    assert len(api.requests["Rejudge"]) == 1
    assert terminal("moderation", "rejudge", "--request", "r1", "--dry-run").exit_code == ExitCode.USAGE
    api.respond("GetRejudgement", ParseDict(begun, moderation_service_pb2.Rejudgement()))
    late = terminal("moderation", "rejudge", "--request", "r1", "--timeout", "0", "--json")
    assert (late.exit_code, late.document["error"]["metadata"]) == (ExitCode.TIME_OUT, {"request_id": "r1"})


def test_figures_are_counted_by_one_thing(api: Any, terminal: Any, snapshot: Any) -> None:
    row = {"begin_s": 1_795_424_400, "kind": "SUBJECT_KIND_OFFER", "status": "MODERATION_STATUS_APPROVED",
           "dimension": "total", "decisions": 1200, "automatic": 1199, "wait_p50_s": 0.21,
           "wait_p99_s": 4.4}  # fmt: skip
    by_verdict = {**row, "dimension": "verdict", "value": "text_auto_contacts", "decisions": 3, "automatic": 3}
    api.respond("GetFigures", ParseDict({"rows": [row, by_verdict]}, moderation_service_pb2.Figures()))
    snapshot("moderation-figures", terminal("moderation", "figures"))
    of_verdicts = terminal("moderation", "figures", "--by", "day", "--last", "7", "--of", "verdict", "--json").document
    assert [found["value"] for found in of_verdicts["rows"]] == ["text_auto_contacts"]
    hours, days = api.requests["GetFigures"]
    assert (hours.interval, hours.intervals) == (moderation_service_pb2.FIGURE_INTERVAL_HOUR, 24)
    assert (days.interval, days.intervals) == (moderation_service_pb2.FIGURE_INTERVAL_DAY, 7)


def test_appeals_are_made_listed_and_decided(api: Any, terminal: Any, snapshot: Any) -> None:
    record = {"appeal_id": 4, "key": KEY, "decision": DECISION, "author_id": "my-shop", "reason": "It is a model."}
    api.respond("Appeal", ParseDict(record, moderation_service_pb2.AppealRecord()))
    api.respond("ListAppeals", ParseDict({"appeals": [record]}, moderation_service_pb2.ListAppealsResponse()))
    api.respond("DecideAppeal", ParseDict({**DECISION, "reviewer": "ann"}, subject_pb2.Decision()))
    made = terminal("moderation", "appeal", KEY, "It is a model.", "--author", "my-shop")
    assert made.out == "appeal 4 against decision 41 is stored\n"
    snapshot("moderation-appeals", terminal("moderation", "appeals"))
    decided = terminal("moderation", "decide", "4", "--refuse", "--reviewer", "ann")
    assert "decision 41: disapproved" in decided.out
    assert "by ann" in decided.out
    [request] = api.requests["DecideAppeal"]
    assert request.status == subject_pb2.MODERATION_STATUS_DISAPPROVED
    assert terminal("moderation", "decide", "4", "--reviewer", "ann").exit_code == ExitCode.USAGE
    api.respond("GetAppeal", ParseDict({**record, "response": "It waits."}, moderation_service_pb2.AppealRecord()))
    assert terminal("moderation", "response", "4").out == "It waits.\n"


def test_point_is_added_shown_listed_commented_voted_and_removed(api: Any, terminal: Any, snapshot: Any) -> None:
    point = ParseDict(SHOWN_POINT, point_pb2.Point())
    for method in ("CreatePoint", "GetPoint", "Vote"):
        api.respond(method, point)
    api.respond("ListPoints", point_service_pb2.ListPointsResponse(points=[point]))
    api.respond("AddComment", point.comments[0])
    api.respond("DeletePoint", point_service_pb2.DeletePointResponse(removed=True))
    added = terminal(
        "point", "add", "--at", "55.75,37.62", "--tag", "accident", "--text", "Two cars", "--region", "213"
    )
    assert added.exit_code == ExitCode.DONE
    [created] = api.requests["CreatePoint"]
    assert (created.author.role, list(created.tags), created.location.longitude) == (1, ["accident"], 37.62)
    snapshot("point-show", terminal("point", "show", POINT_ID))
    snapshot("point-list", terminal("point", "list", "55.5,37.3:56.0,37.9"))
    assert api.requests["ListPoints"][0].north_east.latitude == 56.0
    commented = terminal("point", "comment", POINT_ID, "Police is there")
    assert commented.out == "comment 0 of driver-9 (user), pending: Police is there\n"
    terminal("point", "vote", POINT_ID, "--gone", "--author", "driver-9")
    [vote] = api.requests["Vote"]
    assert (vote.name, vote.author_id, vote.is_there) == (f"points/{POINT_ID}", "driver-9", False)
    assert terminal("point", "remove", POINT_ID, "--json").document == {"removed": True}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "7"), "is not a uuid such as"),
        (("add", "--at", "here", "--tag", "other"), "is not a latitude and longitude such as 55.75,37.62"),
        (("add", "--at", "1,2", "--tag", "other", "--role", "boss"), "is not one of user, partner, moderator, expert"),
        (("list", "1,2"), "is not a latitude and longitude such as"),
    ],
)
def test_point_arguments_that_cannot_be_used(api: Any, terminal: Any, arguments: tuple[str, ...], words: str) -> None:
    ended = terminal("point", *arguments)
    assert ended.exit_code == ExitCode.USAGE
    assert words in " ".join(ended.err.split())
    assert api.requests == {}


def test_reviews_are_counted_claimed_and_ended(api: Any, terminal: Any, snapshot: Any) -> None:
    queues = [{"project": "common_toloka", "waiting": 12, "oldest_s": 4000.0, "late": 3, "reviewers": 2},
              {"project": "custom_map_talks_toloka"}]  # fmt: skip
    api.respond("GetQueues", ParseDict({"queues": queues}, cleanweb_service_pb2.GetQueuesResponse()))
    review = {"review_id": 12, "project": "common_toloka", "text": "Oak bench, you fool",
              "choices": ["text_toloka_insult"],
              "instructions": "Mark what breaks the rules.", "lease_end_time": "2026-11-24T09:05:00Z"}  # fmt: skip
    api.respond("ClaimReview", ParseDict(review, cleanweb_service_pb2.Review()))
    api.respond("SubmitOpinion", cleanweb_service_pb2.SubmitOpinionResponse(ended=True))
    snapshot("cleanweb-queues", terminal("cleanweb", "queues"))
    snapshot("cleanweb-claim", terminal("cleanweb", "claim", "common_toloka", "--reviewer", "ann"))
    ended = terminal("cleanweb", "submit", "12", "text_toloka_insult", "--reviewer", "ann")
    assert ended.out == "stored; review 12 is complete: its verdicts are being sent\n"
    [opinion] = api.requests["SubmitOpinion"]
    assert (opinion.review_id, opinion.reviewer, list(opinion.verdicts)) == (12, "ann", ["text_toloka_insult"])


def test_callbacks_that_were_given_up_are_listed_and_sent_again(api: Any, terminal: Any, snapshot: Any) -> None:
    callback = {"callback_id": 17, "service": "classifeed", "environment": "testing", "key": KEY,
                "create_time": "2026-11-21T09:00:00Z", "give_up_time": "2026-11-24T09:00:00Z",
                "fault": "connection refused"}  # fmt: skip
    api.respond("ListCallbacks", ParseDict({"callbacks": [callback]}, cleanweb_service_pb2.ListCallbacksResponse()))
    api.respond("ResendCallbacks", cleanweb_service_pb2.ResendCallbacksResponse(callbacks=1))
    snapshot("cleanweb-callbacks", terminal("cleanweb", "callbacks", "--given-up"))
    assert terminal("cleanweb", "resend", "--json").document == {"callbacks": 1}
    assert [request.callback_id for request in api.requests["ResendCallbacks"]] == [0]
    api.respond("ResendCallbacks", cleanweb_service_pb2.ResendCallbacksResponse())
    refused = terminal("cleanweb", "resend", "18", "--json")
    assert (refused.exit_code, refused.document["error"]["reason"]) == (ExitCode.REFUSED, "CALLBACK_NOT_GIVEN_UP")
