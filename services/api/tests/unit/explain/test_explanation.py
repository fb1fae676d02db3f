"""The explanation of each outcome; every combination of facts has a sound one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import protovalidate
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifeed.feeds.v1 import explanation_pb2, load_pb2, task_pb2
from classifeed.feeds.v1.explanation_pb2 import ExplanationStage, ExplanationState, OfferExplanation, OfferFate
from classifeed.feeds.v1.feed_pb2 import FeedSourceState, Fetch
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_REJECT
from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import OfferLocation, OfferPlace
from classifeed.offers.v1 import offer_pb2
from classifeed.offers.v1.offer_pb2 import Offer, OfferContent, OfferPicture
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed.search.v1.search_service_pb2 import Hit
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_api.domain.uploads import Upload
from classifeed_api.explain.explain import explain
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


@dataclass
class Case:
    """Facts with the expected texts; `steps` maps stages to expected states, others are not checked."""

    facts: Facts
    outcome: str
    summary: list[str]
    suggestion: str | None = ""
    steps: dict[str, str] = field(default_factory=dict)
    code: str = ""


FAILED = task(7, "FAILED", error_code="MALFORMED_XML", error_message="A & stands alone.", error_line=5, error_column=9)
FLOODED = {"issues": [{"code": "PRICE_INVALID", "count": 500, "unlisted": 400}]}
CASES = {
    "found": Case(
        facts(Look(task(7), located(5), []), kept(), found()),
        "SEARCHABLE",
        ["finds the state of load 7, since 2026-11-21 11:59:38 UTC"],
        steps=dict.fromkeys(
            ["SOURCE", "FILE", "OFFER", "CHECKS", "BATCH", "APPLIED", "MODERATION", "REGISTERED", "SEARCHABLE"], "DONE"
        )
        | {"PICTURES": "SKIPPED"},
    ),
    "unchanged": Case(
        facts(Look(task(9), located(5), []), kept(load=7), found()),
        "SEARCHABLE",
        ["the state of load 7"],
        steps={"APPLIED": "DONE"},
    ),
    "with a warning": Case(
        facts(Look(task(7), located(5), [issue("PRICE_ZERO", "WARNING")]), kept(), found()),
        "SEARCHABLE",
        ["finds"],
        steps={"CHECKS": "WARNING"},
    ),
    "rejected": Case(
        facts(Look(task(7), located(5), [issue("PRICE_INVALID")]), None, None),
        "REJECTED",
        ["Load 7 did not accept the offer", "What PRICE_INVALID says", "No earlier load has added it"],
        "Mend PRICE_INVALID.",
        {"OFFER": "DONE", "CHECKS": "STOPPED", "BATCH": "SKIPPED", "SEARCHABLE": "SKIPPED"},
        "PRICE_INVALID",
    ),
    "rejected, in a load with too many issues to list": Case(
        facts(
            Look(task(7, statistics=FLOODED), located(5), []),
            None,
            None,
        ),
        "REJECTED",
        ["400 issues of this load that are counted but not listed"],
        "Correct what is listed, and load the file again.",
        {"CHECKS": "STOPPED"},
        "PRICE_INVALID",
    ),
    "rejected with an older state": Case(
        facts(Look(task(9), located(5), [issue("PRICE_INVALID")]), kept(load=7), found()),
        "REJECTED",
        ["Load 9 did not accept the offer", "The search still finds the state of load 7"],
        "Mend PRICE_INVALID.",
        {"CHECKS": "STOPPED", "APPLIED": "SKIPPED", "SEARCHABLE": "SKIPPED"},
        "PRICE_INVALID",
    ),
    "duplicate": Case(
        facts(Look(task(7), located(4, 6), [issue("DUPLICATE_ID", kind="DUPLICATE", line=6)]), kept(), found()),
        "SEARCHABLE",
        ["is repeated on line 6"],
        "Remove the offer on line 6, or give it a unique id.",
        {"CHECKS": "WARNING", "APPLIED": "DONE"},
    ),
    "removed": Case(
        facts(
            Look(task(9), located(), []),
            kept("REMOVED", 9, "REMOVED"),
            None,
            before=Look(task(8), located(12), []),
            lacking=[9],
        ),
        "REMOVED",
        [
            "file of load 9 does not have the id “B”. So the offer was removed, at 2026-11-21 11:59:36 UTC.",
            "UTC. Load 8 had it on line 12.",
        ],
        "Put the offer back into the file and load it again.",
        {"FILE": "DONE", "OFFER": "STOPPED", "APPLIED": "DONE", "REGISTERED": "SKIPPED", "SEARCHABLE": "SKIPPED"},
        "NOT_IN_FILE",
    ),
    "removed, and still missing": Case(
        facts(Look(task(8), located(), []), kept("REMOVED", 8, "REMOVED"), None, newer=task(9), lacking=[9]),
        "REMOVED",
        ["load 8 does not have the id", "Load 9, the newest, does not have it."],
        "Put the offer back into the file and load it again.",
    ),
    "removed with its feed": Case(
        facts(
            Look(task(9, kind=task_pb2.TASK_KIND_DELETE, format=""), UNKNOWN, UNKNOWN),
            kept("REMOVED", 9, "REMOVED"),
            None,
            before=Look(task(8), located(12), []),
        ),
        "REMOVED",
        ["Load 9 removed the feed", "Load 8 had it on line 12"],
        "To sell the offer again, load a file that has it, or create the feed again.",
        {"SOURCE": "SKIPPED", "FILE": "SKIPPED", "OFFER": "STOPPED"},
        "FEED_ENDED",
    ),
    "failed load": Case(
        facts(Look(FAILED, located(5, batch=0), []), kept(load=6), found()),
        "LOAD_FAILED",
        ["Load 7, the newest, failed at line 5 (MALFORMED_XML)", "The search still finds the state of load 6"],
        "Correct line 5 of the file and load it again: one such fault stops all offers of the file.",
        {"SOURCE": "DONE", "FILE": "STOPPED", "OFFER": "SKIPPED", "SEARCHABLE": "SKIPPED"},
        "MALFORMED_XML",
    ),
    "failed load of a new offer": Case(
        facts(Look(FAILED, located(), []), None, None),
        "LOAD_FAILED",
        ["No earlier load has added it"],
        None,
        {"FILE": "STOPPED"},
        "MALFORMED_XML",
    ),
    "lost on the way": Case(
        facts(Look(task(7, "FAILED", error_code="RUNS_EXHAUSTED"), located(5), []), kept(load=6), found()),
        "LOAD_FAILED",
        ["failed"],
        None,
        {"FILE": "DONE", "OFFER": "DONE", "BATCH": "STOPPED"},
        "RUNS_EXHAUSTED",
    ),
    "is queued": Case(
        facts(
            Look(task(7, "IN_PROGRESS", phase=0, format="", run=0, expected_total=0), located(5, batch=0), []),
            kept(load=6),
            found(),
        ),
        "ON_ITS_WAY",
        ["is queued", "Meanwhile the search finds the state of load 6"],
        steps={
            "FILE": "WAITING",
            "OFFER": "WAITING",
            "BATCH": "WAITING",
            "APPLIED": "WAITING",
            "SEARCHABLE": "WAITING",
        },
    ),
    "sent, not answered": Case(
        facts(Look(task(7, "IN_PROGRESS", phase=1), located(5, has_reply=False), []), None, None),
        "ON_ITS_WAY",
        ["on its way. The list of offers has not applied it from load 7 yet."],
        steps={"FILE": "DONE", "CHECKS": "WAITING", "BATCH": "DONE", "APPLIED": "WAITING", "MODERATION": "WAITING"},
    ),
    "not indexed yet": Case(
        facts(Look(task(7), located(5), []), kept(published_version=1), found(900)),
        "ON_ITS_WAY",
        ["will be sent", "Meanwhile the search finds the state of 2026-11-21 11:45:00 UTC"],
        steps={"APPLIED": "DONE", "REGISTERED": "WAITING", "SEARCHABLE": "WAITING"},
    ),
    "banned": Case(
        facts(Look(task(7), located(5), []), kept("BANNED", moderation="rules"), None),
        "BANNED",
        ["Moderation refuses the offer"],
        None,
        {"APPLIED": "DONE", "MODERATION": "STOPPED", "REGISTERED": "SKIPPED"},
        "BANNED",
    ),
    "text awaits its verdict": Case(
        facts(Look(task(7), located(5), []), kept("PENDING", published_version=0), None),
        "ON_ITS_WAY",
        ["waits for its verdict"],
        steps={"MODERATION": "WAITING", "REGISTERED": "WAITING"},
    ),
    "new text awaits its verdict": Case(
        facts(Look(task(7), located(5), []), kept(published_content=OfferContent(title="x")), found()),
        "SEARCHABLE",
        ["finds", "Its text waits for its verdict. The previous text is shown meanwhile."],
        steps={"MODERATION": "WAITING", "REGISTERED": "DONE", "SEARCHABLE": "DONE"},
    ),
    "rejected for too long": Case(
        facts(Look(task(7), located(5), []), kept("REJECTED", load=3), None),
        "REJECTED",
        ["had errors in every load for a long time"],
        None,
        {"APPLIED": "STOPPED"},
        "ERRORS_TOO_LONG",
    ),
    "unknown to a patch": Case(
        facts(Look(task(7, mode=2), located(5), [issue("PATCH_UNKNOWN_OFFER", "WARNING")]), None, None),
        "REJECTED",
        ["What PATCH_UNKNOWN_OFFER says"],
        "Mend PATCH_UNKNOWN_OFFER.",
        {"CHECKS": "DONE", "APPLIED": "STOPPED"},
        "PATCH_UNKNOWN_OFFER",
    ),
    "never seen": Case(
        facts(Look(task(9), located(), []), None, None, lacking=[9, 8]),
        "NEVER_SEEN",
        ["None of the files of loads 9, 8 has the id “B”. It is not in the list of offers either."],
        "Search for the id in your file: capitals and inner spaces matter, and another namespace is another feed.",
        {"OFFER": "STOPPED"},
        "NOT_IN_FILE",
    ),
    "no loads": Case(facts(None, None, None), "NEVER_SEEN", ["No load of this namespace"], None, {"SOURCE": "STOPPED"}),
    "link that fails": Case(
        facts(None, None, None, link=link()),
        "NEVER_SEEN",
        ["could not be fetched (HTTP_NOT_FOUND). The site said no. The next fetch is due at 2026-11-21 12:10:00 UTC."],
        FETCH_FAULTS["HTTP_NOT_FOUND"].suggestion,
        {"SOURCE": "STOPPED", "SEARCHABLE": "SKIPPED"},
        "HTTP_NOT_FOUND",
    ),
    "link that fails, paused": Case(
        facts(None, None, None, link=link(is_paused=True)),
        "NEVER_SEEN",
        ["could not be fetched", "paused, so it is not fetched again"],
        None,
        {"SOURCE": "STOPPED"},
        "HTTP_NOT_FOUND",
    ),
    "link paused before its first fetch": Case(
        facts(None, None, None, link=link("", failures=0, is_paused=True)),
        "NEVER_SEEN",
        ["The feed is paused"],
        None,
        {"SOURCE": "STOPPED"},
        "FEED_PAUSED",
    ),
    "first fetch queued": Case(
        facts(None, None, None, link=link("QUEUED", failures=0)),
        "ON_ITS_WAY",
        ["The file of the feed waits to be fetched. Whether the file has the offer is known after the fetch."],
        steps={"SOURCE": "WAITING", "FILE": "WAITING", "APPLIED": "WAITING", "SEARCHABLE": "WAITING"},
    ),
    "fetch running after failures": Case(
        facts(None, None, None, link=link("RUNNING", failures=2)),
        "ON_ITS_WAY",
        ["is being fetched. Failed fetches before it: 2."],
        steps={"SOURCE": "WAITING", "SEARCHABLE": "WAITING"},
    ),
    "link that was never fetched": Case(
        facts(None, None, None, link=link("", failures=0)),
        "ON_ITS_WAY",
        ["has not been fetched yet. The next fetch is due at 2026-11-21 12:10:00 UTC."],
        steps={"SOURCE": "WAITING"},
    ),
    "link whose load is forgotten": Case(
        facts(None, None, None, link=link("LOADED", failures=0)),
        "NEVER_SEEN",
        ["No load of this namespace is stored."],
        None,
        {"SOURCE": "STOPPED"},
        "NO_LOAD",
    ),
    "link that cannot be asked for": Case(
        facts(None, None, None, link=UNKNOWN),
        "NEVER_SEEN",
        ["The fetches of the feed did not respond"],
        None,
        {"SOURCE": "UNKNOWN"},
    ),
    "link that fails since the load": Case(
        facts(Look(task(7), located(5), []), kept(), found(), link=link(failures=3)),
        "SEARCHABLE",
        ["finds", "The link has failed 3 times since (HTTP_NOT_FOUND); the offers are those of load 7."],
        FETCH_FAULTS["HTTP_NOT_FOUND"].suggestion,
        {"SOURCE": "WARNING", "FILE": "DONE", "SEARCHABLE": "DONE"},
    ),
    "link that fails since a load that lacks it": Case(
        facts(
            Look(task(8), located(), []), kept("REMOVED", 8, "REMOVED"), None, newer=task(9), lacking=[9], link=link()
        ),
        "REMOVED",
        ["The link has failed once since (HTTP_NOT_FOUND); the offers are those of load 9."],
        "Put the offer back into the file and load it again.",
        {"SOURCE": "WARNING", "OFFER": "STOPPED", "APPLIED": "DONE"},
    ),
    "link that works": Case(
        facts(Look(task(7), located(5), []), kept(), found(), link=link("NOT_MODIFIED", failures=0)),
        "SEARCHABLE",
        ["finds"],
        steps={"SOURCE": "DONE"},
    ),
    "kept by hand without loads": Case(
        facts(None, kept(load=0), found()), "SEARCHABLE", ["finds"], steps={"SOURCE": "SKIPPED", "APPLIED": "DONE"}
    ),
    "held load lacks it": Case(
        facts(
            Look(task(8), located(5), []),
            kept(load=8),
            found(),
            newer=task(9, "HELD", hold=load_pb2.LoadHold(removals=1200, offers=1300)),
            lacking=[9],
        ),
        "SEARCHABLE",
        [
            "Load 9, the newest, does not have it and is held, as it would remove 1,200 of 1,300 offers: confirmed, it "
            "removes the offer."
        ],
        "Reject that load, or load a file that has the offer, to keep it; confirm the load to remove it.",
    ),
    "held load changes its price far": Case(
        facts(
            Look(
                task(
                    9,
                    "HELD",
                    hold=load_pb2.LoadHold(
                        reasons=[load_pb2.HOLD_REASON_PRICES], changes=1200, moved_prices=1200, changed_prices=1300
                    ),
                ),
                located(5),
                [],
            ),
            kept(load=8, waiting_task_id=9),
            found(),
        ),
        "SEARCHABLE",
        [
            "The search finds the state of load 8",
            "The change of the offer by load 9 waits for a decision: the load is held, as it would change 1,200 of "
            "1,300 changed prices by a large factor. Until then the offer keeps the state of load 8.",
        ],
        "Confirm that load if its file is right; otherwise reject it, or load a corrected file.",
        {"APPLIED": "WAITING", "REGISTERED": "DONE", "SEARCHABLE": "DONE"},
    ),
    "running load changes its price far": Case(
        facts(Look(task(9, "IN_PROGRESS"), located(5), []), kept(load=8, waiting_task_id=9), found()),
        "SEARCHABLE",
        ["The change of the offer by load 9 waits until that load completes."],
        steps={"APPLIED": "WAITING", "SEARCHABLE": "DONE"},
    ),
    "its change was rejected": Case(
        facts(
            Look(task(9, decision=HOLD_DECISION_REJECT, hold=load_pb2.LoadHold(changes=3)), located(5), []),
            kept(load=8),
            found(),
        ),
        "SEARCHABLE",
        ["the state of load 8"],
        steps={"APPLIED": "DONE"},
    ),
    "load held for two reasons lacks it": Case(
        facts(
            Look(task(8), located(5), []),
            kept(load=8),
            found(),
            newer=task(
                9,
                "HELD",
                hold=load_pb2.LoadHold(
                    reasons=[load_pb2.HOLD_REASON_UNAVAILABLE], removals=2, offers=1300, turned_unavailable=1298
                ),
            ),
            lacking=[9],
        ),
        "SEARCHABLE",
        [
            "is held, as it would remove 2 of 1,300 offers and leave no offer available: confirmed, it removes the "
            "offer."
        ],
        "Reject that load, or load a file that has the offer, to keep it; confirm the load to remove it.",
    ),
    "rejected load lacks it": Case(
        facts(
            Look(task(8), located(5), []),
            kept(load=8),
            found(),
            newer=task(9, decision=HOLD_DECISION_REJECT),
            lacking=[9],
        ),
        "SEARCHABLE",
        ["Load 9, the newest, does not have it; its removals were rejected, so the offer stays."],
    ),
    "running load lacks it": Case(
        facts(Look(task(8), located(5), []), kept(load=8), found(), newer=task(9, "IN_PROGRESS"), lacking=[9]),
        "SEARCHABLE",
        ["Load 9, the newest, does not have it and removes the offer when it completes."],
        "To keep the offer, put it back into the file and load it again.",
    ),
    "a patch does not name it": Case(
        facts(Look(task(8), located(5), []), kept(load=8), found(), newer=task(9, mode=2), lacking=[9]),
        "SEARCHABLE",
        ["the state of load 8"],
    ),
    "made manual": Case(
        facts(
            Look(task(8), located(5), []),
            kept(load=9, change="MADE_MANUAL", origin=offer_pb2.OFFER_ORIGIN_MANUAL),
            found(),
            newer=task(9, disposition=load_pb2.DISPOSITION_MAKE_MANUAL),
            lacking=[9],
        ),
        "SEARCHABLE",
        ["Load 9, the newest, does not have it; the offer is kept by hand."],
        steps={"APPLIED": "WARNING"},
    ),
    "processor away": Case(
        facts(UNKNOWN, kept(), found()),
        "SEARCHABLE",
        ["finds", "The loads did not respond"],
        steps=dict.fromkeys(["SOURCE", "FILE", "OFFER", "CHECKS", "BATCH"], "UNKNOWN") | {"APPLIED": "DONE"},
    ),
    "owner away": Case(
        facts(Look(task(7), located(5), []), UNKNOWN, found()),
        "SEARCHABLE",
        ["The list of offers did not respond"],
        steps=dict.fromkeys(["APPLIED", "MODERATION", "PICTURES", "REGISTERED"], "UNKNOWN") | {"SEARCHABLE": "WARNING"},
    ),
    "search away": Case(
        facts(Look(task(7), located(5), []), kept(), UNKNOWN),
        "ON_ITS_WAY",
        ["nothing has stopped the offer", "The search did not respond"],
        steps={"REGISTERED": "DONE", "SEARCHABLE": "UNKNOWN"},
    ),
    "loader away": Case(
        facts(Look(task(7), located(5), []), kept(), found(), source=UNKNOWN),
        "SEARCHABLE",
        ["finds"],
        steps={"SOURCE": "UNKNOWN", "FILE": "DONE"},
    ),
    "file too long to be searched through": Case(
        facts(Look(task(7), UNKNOWN, []), kept(), found()),
        "SEARCHABLE",
        ["finds"],
        steps={"OFFER": "UNKNOWN", "BATCH": "DONE", "APPLIED": "DONE"},
    ),
    "owner away, gone from the newest": Case(
        facts(Look(task(8), located(5), []), UNKNOWN, None, newer=task(9), lacking=[9]),
        "REMOVED",
        ["The newest load did not have the offer"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_each_outcome_is_explained(case: Case) -> None:
    explanation = explain(case.facts)
    assert OfferFate.Name(explanation.fate).removeprefix("OFFER_FATE_") == case.outcome, explanation
    for words in case.summary:
        assert words in explanation.summary
    if case.suggestion is None:
        assert explanation.suggestion
    else:
        assert explanation.suggestion == case.suggestion
    states = states_of(explanation)
    assert {stage: states[stage] for stage in case.steps} == case.steps
    stopped = [step for step in explanation.steps if step.state == explanation_pb2.EXPLANATION_STATE_STOPPED]
    if case.code:
        assert [step.code for step in stopped] == [case.code]
    assert_sound(explanation)


def states_of(explanation: OfferExplanation) -> dict[str, str]:
    return {
        ExplanationStage.Name(step.stage).removeprefix("EXPLANATION_STAGE_"): ExplanationState.Name(
            step.state
        ).removeprefix("EXPLANATION_STATE_")
        for step in explanation.steps
    }


def step_of(explanation: OfferExplanation, stage: str) -> explanation_pb2.ExplanationStep:
    return explanation.steps[STAGES.index(ExplanationStage.Value(f"EXPLANATION_STAGE_{stage}"))]


def test_found_offer_names_its_place_its_category_and_the_time_of_each_step() -> None:
    explanation = explain(CASES["found"].facts)
    place = step_of(explanation, "OFFER")
    assert (place.line, place.column, place.excerpt) == (5, 1, '<offer id="B"> 5')
    assert "Мебель / Стулья" in step_of(explanation, "CHECKS").text
    assert "Тверь" in step_of(explanation, "CHECKS").text
    assert "“f.yml” (1,234 bytes)" in step_of(explanation, "SOURCE").text
    assert explanation.task == f"{NAME.parent}/tasks/7"
    done = [step for step in explanation.steps if step.state == explanation_pb2.EXPLANATION_STATE_DONE]
    assert all(step.HasField("time") for step in done)
    seconds_ago = [(NOW_MICROS - step.time.ToMicroseconds()) // SECOND for step in done]
    assert seconds_ago == [31, 26, 25, 25, 25, 24, 24, 23, 22]


def test_the_check_of_a_file_has_one_moment_for_all_of_its_offers() -> None:
    for look in (
        Look(task(7), located(5), []),
        Look(task(7), located(5), [issue("PRICE_INVALID")]),
        Look(task(7), located(5, batch=0), []),
        Look(task(7), located(), []),
    ):
        explanation = step_of(explain(facts(look, None, None)), "FILE")
        assert NOW_MICROS - explanation.time.ToMicroseconds() == 26 * SECOND
    unread = step_of(explain(facts(Look(task(7), UNKNOWN, []), kept(), found())), "FILE")
    assert not unread.HasField("time"), "the server does not report it"


def test_what_an_earlier_load_brought_about_has_no_time_on_the_way_of_this_one() -> None:
    explanation = explain(CASES["unchanged"].facts)
    timed = [
        ExplanationStage.Name(step.stage).rpartition("_")[2] for step in explanation.steps if step.HasField("time")
    ]
    assert timed == ["SOURCE", "FILE", "OFFER", "CHECKS", "BATCH", "APPLIED"]
    assert "since 2026-11-21 11:59:38 UTC" in step_of(explanation, "SEARCHABLE").text


def test_fetched_file_names_its_fetch() -> None:
    fetch = Fetch(fetch_id=12, bytes=77)
    fetch.download_time.FromDatetime(AT)
    explanation = step_of(explain(facts(Look(task(7), located(5), []), kept(), found(), source=fetch)), "SOURCE")
    assert explanation.text.startswith("Fetch 12 brought the file (77 bytes)")
    assert explanation.time == fetch.download_time


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "The search does not have it any more."),
        (found(), "The search will remove it in a moment."),
        (UNKNOWN, "Whether the search has removed it is not known right now."),
    ],
)
def test_removal_is_explained_to_its_end(document: Hit | Unknown | None, words: str) -> None:
    removed = kept("REMOVED", 9, "REMOVED")
    explanation = explain(facts(Look(task(9), located(), []), removed, document))
    applied = step_of(explanation, "APPLIED")
    assert (applied.text, applied.time) == ("Load 9 removed the offer.", removed.update_time)
    assert step_of(explanation, "REGISTERED").text == "The registry of documents has been informed of the removal."
    assert step_of(explanation, "SEARCHABLE").text == words


def test_removal_before_the_load_that_refuses_it_is_not_the_end_of_its_way() -> None:
    explanation = explain(
        facts(Look(task(9), located(5), [issue("PRICE_INVALID")]), kept("REMOVED", 8, "REMOVED"), None)
    )
    assert states_of(explanation)["APPLIED"] == "SKIPPED"


def test_failed_fetch_has_its_time() -> None:
    known = link()
    explanation = step_of(explain(facts(None, None, None, link=known)), "SOURCE")
    assert explanation.time == known.state.last_fetch.end_time


@pytest.mark.parametrize(
    ("fetch", "words"),
    [("sellers/shop/feeds/default/fetches/3", "Open the link in a browser"), ("", "Open the file you")],
)
def test_page_in_place_of_a_feed_is_remedied_where_it_came_from(fetch: str, words: str) -> None:
    failed = task(7, "FAILED", error_code="NOT_A_FEED", error_message="It is a page.", error_line=1, fetch=fetch)
    explanation = explain(facts(Look(failed, located(), []), None, None))
    assert explanation.suggestion.startswith(words)
    assert "line 1" not in explanation.suggestion


def test_lists_below_a_fault_are_left_to_the_load() -> None:
    failed = task(7, "FAILED", error_code="UNKNOWN_FORMAT", error_message="It is JSON. Export it.\nKnown:\n- yml")
    explanation = step_of(explain(facts(Look(failed, located(), []), None, None)), "FILE")
    assert explanation.text == "The file of load 7 cannot be loaded. It is JSON. Export it."
    assert explanation.suggestion.startswith("Correct the file as its message says and load it again")


def test_failed_load_names_place_and_words_of_the_fault() -> None:
    explanation = step_of(explain(CASES["failed load"].facts), "FILE")
    assert (explanation.code, explanation.line, explanation.column) == ("MALFORMED_XML", 5, 9)
    assert "A & stands alone." in explanation.text
    assert step_of(explain(CASES["failed load"].facts), "OFFER").line == 5


def test_all_errors_of_an_offer_are_reported_at_once() -> None:
    issues = [issue(code) for code in ("PRICE_INVALID", "CURRENCY_UNKNOWN", "URL_INVALID")]
    explanation = explain(facts(Look(task(7), located(5), issues), None, None))
    checks = step_of(explanation, "CHECKS")
    assert "currency_unknown (CURRENCY_UNKNOWN, line 5); url_invalid (URL_INVALID, line 5)" in checks.text
    assert explanation.suggestion == "Mend PRICE_INVALID. Mend CURRENCY_UNKNOWN. Mend URL_INVALID."


def test_duplicates_are_counted_from_whichever_source_knows_more() -> None:
    issues = [issue("DUPLICATE_ID", kind="DUPLICATE", line=line) for line in (9, 6, 12)]
    assert list(explain(facts(Look(task(7), UNKNOWN, issues), kept(), found())).duplicate_lines) == [6, 9, 12]
    lines = list(range(4, 24))
    assert list(explain(facts(Look(task(7), located(*lines), issues), kept(), found())).duplicate_lines) == lines[1:]


def test_broken_offer_may_have_a_duplicate() -> None:
    issues = [issue("PRICE_INVALID"), issue("DUPLICATE_ID", kind="DUPLICATE", line=9)]
    explanation = explain(facts(Look(task(7), located(5, 9), issues), None, None))
    assert step_of(explanation, "CHECKS").code == "PRICE_INVALID"
    assert "line 9" in step_of(explanation, "CHECKS").text


@pytest.mark.parametrize(
    ("states", "state", "words"),
    [
        (["STORED"], "DONE", "Its picture is stored."),
        (["STORED", "STORED"], "DONE", "Its 2 pictures are stored."),
        (["AWAITED"], "WAITING", "Its picture is awaited."),
        (["STORED", "AWAITED"], "WAITING", "Stored so far: 1 of its 2 pictures. The others are awaited."),
        (["FAILED"], "WARNING", "Its picture https://a/1.jpg could not be loaded: The server answers with 404."),
        (
            ["STORED", "AWAITED", "FAILED"],
            "WARNING",
            "1 of its 3 pictures could not be loaded. The first, https://a/1.jpg: The server answers with 404.",
        ),
    ],
)
def test_pictures_are_shown_as_they_are_now(states: list[str], state: str, words: str) -> None:
    offer = kept(pictures=[picture(it) for it in states], content=OfferContent(picture_urls=["https://a/1.jpg"]))
    explanation = explain(facts(Look(task(7), located(5), []), offer, found()))
    assert_sound(explanation)
    assert states_of(explanation)["PICTURES"] == state
    assert step_of(explanation, "PICTURES").text == words
    assert explanation.fate == explanation_pb2.OFFER_FATE_SEARCHABLE


def test_failed_picture_has_code_and_line_of_the_load() -> None:
    known = issue("PICTURE_NOT_FOUND", "WARNING", "PICTURE", line=5)
    known.excerpt = "https://a/1.jpg"
    offer = kept(pictures=[picture("FAILED")])
    told = step_of(explain(facts(Look(task(7), located(5), [known]), offer, found())), "PICTURES")
    assert (told.code, told.line, told.suggestion) == ("PICTURE_NOT_FOUND", 5, known.suggestion)


def test_long_wait_is_reported_as_one() -> None:
    stuck = kept(version=NOW_MICROS - 600 * SECOND, published_version=NOW_MICROS - 600 * SECOND)
    explanation = explain(facts(Look(task(7), located(5), []), stuck, None))
    assert "inform the operator" in step_of(explanation, "SEARCHABLE").text


# Every response of every source, freely combined, including combinations that should never occur.
issues_ = st.lists(
    st.builds(
        issue,
        st.sampled_from(["PRICE_INVALID", "SKIPPED_TILL_NEXT_LOAD", "DUPLICATE_ID"]),
        st.sampled_from(["ERROR", "WARNING"]),
        st.sampled_from(["VALIDATION", "DUPLICATE", "BANNED", "PICTURE", "CATEGORY"]),
        st.integers(0, 9),
    ),
    max_size=5,
)
tasks_ = st.builds(
    task,
    st.integers(1, 9),
    st.sampled_from(["IN_PROGRESS", "HELD", "SUCCEEDED", "FAILED"]),
    kind=st.sampled_from([task_pb2.TASK_KIND_LOAD, task_pb2.TASK_KIND_DELETE]),
    phase=st.integers(0, 3),
    mode=st.integers(1, 2),
    disposition=st.integers(1, 2),
    run=st.integers(0, 2),
    format=st.sampled_from(["", "yml"]),
    error_code=st.sampled_from(["", "MALFORMED_XML", "RUNS_EXHAUSTED"]),
    warnings=st.lists(st.just("Something."), max_size=1),
)
locations = st.one_of(
    st.just(UNKNOWN),
    st.builds(
        lambda lines, batch, has_reply: located(*lines, batch=batch, has_reply=has_reply),
        st.lists(st.integers(4, 30), max_size=8),
        st.integers(0, 2),
        st.booleans(),
    ),
)
looks = st.builds(Look, tasks_, locations, st.one_of(st.just(UNKNOWN), issues_))
offers = st.builds(
    kept,
    st.sampled_from(["PENDING", "ACTIVE", "REJECTED", "BANNED", "REMOVED"]),
    st.integers(0, 9),
    st.sampled_from(["ADDED", "UPDATED", "REMOVED", "MADE_MANUAL"]),
    origin=st.integers(1, 2),
    published_version=st.sampled_from([0, NOW_MICROS]),
    published_content=st.sampled_from([None, OfferContent(title="x")]),
    waiting_task_id=st.sampled_from([0, 9]),
    content=st.sampled_from([OfferContent(), OfferContent(category_id="1"), OfferContent(picture_urls=["a", "b"])]),
    pictures=st.lists(st.sampled_from([picture("STORED"), picture("AWAITED"), picture("FAILED")]), max_size=3),
)
links = st.builds(
    link,
    st.sampled_from(["", "QUEUED", "RUNNING", "LOADED", "NOT_MODIFIED", "FAILED", "DROPPED"]),
    failures=st.integers(0, 2),
    is_paused=st.booleans(),
)
hits = st.builds(found, st.sampled_from([3, 24, 900]))
any_facts = st.builds(
    facts,
    st.one_of(st.sampled_from([UNKNOWN, None]), looks),
    st.one_of(st.sampled_from([UNKNOWN, None]), offers),
    st.one_of(st.sampled_from([UNKNOWN, None]), hits),
    st.sampled_from([UNKNOWN, None, UPLOAD, Fetch(fetch_id=1)]),
    newer=st.one_of(st.none(), tasks_),
    before=st.one_of(st.none(), looks),
    lacking=st.lists(st.integers(1, 9), max_size=3),
    link=st.one_of(st.sampled_from([UNKNOWN, None]), links),
)


@settings(max_examples=600, deadline=None)
@given(any_facts)
def test_every_combination_of_facts_has_a_sound_explanation(known: Facts) -> None:
    assert_sound(explain(known))


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
