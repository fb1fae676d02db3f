"""Each outcome of an offer has its explanation."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from classifeed.feeds.v1 import explanation_pb2, load_pb2, task_pb2
from classifeed.feeds.v1.explanation_pb2 import OfferFate
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_REJECT
from classifeed.offers.v1 import offer_pb2
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain.explain import explain
from classifeed_api.explain.facts import Facts, Look
from classifeed_common.fetch import FETCH_FAULTS

from .explanations import (
    assert_sound,
    facts,
    found,
    issue,
    kept,
    link,
    located,
    states_of,
    task,
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
