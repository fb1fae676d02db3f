"""The places, times and texts of an explanation."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1 import explanation_pb2
from classifeed.feeds.v1.explanation_pb2 import ExplanationStage
from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed.search.v1.search_service_pb2 import Hit
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_api.explain.explain import explain
from classifeed_api.explain.facts import Look

from .explanations import (
    AT,
    NAME,
    NOW_MICROS,
    SECOND,
    assert_sound,
    facts,
    found,
    issue,
    kept,
    link,
    located,
    picture,
    states_of,
    step_of,
    task,
)
from .test_outcomes import CASES


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
