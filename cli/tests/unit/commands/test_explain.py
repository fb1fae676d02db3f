"""The explanation of an offer on a terminal: outcome, stages, times, places and fixes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.feeds.v1 import explanation_pb2

Snapshot = Callable[[str, Any], None]
NAME = "sellers/home-and-garden/feeds/default/offers/"


def step(stage: str, state: str, text: str, second: float | None = None, **more: Any) -> dict[str, Any]:
    row = {"stage": f"EXPLANATION_STAGE_{stage}", "state": f"EXPLANATION_STATE_{state}", "text": text, **more}
    if second is not None:
        row["time"] = f"2026-11-21T19:50:{second:06.3f}Z"
    return row


SOURCE = step("SOURCE", "DONE", "home_and_garden.yml was uploaded, 14 KiB.", 1)
FILE = step("FILE", "DONE", "The file is YML with 36 offers, and was read to its end.", 1.25)
FOUND = {
    "name": NAME + "G-101",
    "fate": "OFFER_FATE_SEARCHABLE",
    "summary": "The search finds it since 4.2 s after the upload.",
    "task": "sellers/home-and-garden/feeds/default/tasks/1",
    "steps": [
        SOURCE,
        FILE,
        step(
            "OFFER", "DONE", "It is offer 17 of the file.", 1.3, line=179, column=7,
            excerpt='<offer id="G-101" available="true">\n   <url>https://shop.example/offers/g-101</url>\n  <price>',
        ),
        step(
            "CHECKS", "WARNING", "Category 77 is not in the file's list of categories; the offer goes on without one.",
            1.3, code="CATEGORY_UNKNOWN", line=243, column=9, excerpt="<categoryId>77</categoryId>",
            suggestion="List the category under <categories>, or correct the number.",
        ),
        step("BATCH", "DONE", "It was sent in batch 1.", 1.4),
        step("APPLIED", "DONE", "It is new.", 2),
        step("MODERATION", "SKIPPED", "Texts are approved by a setting."),
        step("PICTURES", "UNKNOWN", "Pictures could not be asked right now."),
        step("REGISTERED", "DONE", "The registry took version 1.", 3.1),
        step("SEARCHABLE", "DONE", "The search has it.", 5.2),
    ],
    "duplicate_lines": [317, 320],
}  # fmt: skip
REJECTED = {
    "name": NAME + "S-016",
    "fate": "OFFER_FATE_REJECTED",
    "summary": "Its price cannot be read, so the offer was not loaded, and no older state of it is found.",
    "suggestion": "Write the price as a plain number, such as 19900, without a currency.",
    "task": "sellers/home-and-garden/feeds/default/tasks/1",
    "steps": [
        SOURCE,
        FILE,
        step("OFFER", "DONE", "It is offer 16 of the file.", 1.3, line=171),
        step(
            "CHECKS", "STOPPED", "The price is “19 900 руб.”.", 1.3, code="PRICE_INVALID", line=173, column=16,
            excerpt="<price>19 900 руб.</price>",
            suggestion="Write the price as a plain number, such as 19900, without a currency.",
        ),
        step("BATCH", "WAITING", "Its answer is awaited."),
        step("SEARCHABLE", "SKIPPED", "Not reached."),
    ],
}  # fmt: skip


def explanation(row: dict[str, Any]) -> explanation_pb2.OfferExplanation:
    return ParseDict(row, explanation_pb2.OfferExplanation())


def test_offer_that_is_found(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("ExplainOffer", explanation(FOUND))
    snapshot("offer-explain-found", terminal("offer", "explain", "home-and-garden", "default", "G-101"))
    assert api.requests["ExplainOffer"][0].name == NAME + "G-101"


def test_offer_that_was_rejected(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("ExplainOffer", explanation(REJECTED))
    snapshot("offer-explain-rejected", terminal("offer", "explain", "home-and-garden", "default", "S-016"))
    snapshot("offer-explain-json", terminal("offer", "explain", "home-and-garden", "default", "S-016", "--json"))


def test_time_counts_from_the_coming_of_the_file_and_from_nothing_else(api: Any, terminal: Any) -> None:
    later = step("FILE", "DONE", "Checked.", 3)
    batch = step("BATCH", "DONE", "Sent.", 3.5)
    api.respond("ExplainOffer", explanation({**REJECTED, "steps": [SOURCE, later, batch]}))
    shown = terminal("offer", "explain", "home-and-garden", "default", "S-016").out
    assert "Times of 2026-11-21; + is the time since the file came\n" in shown
    assert ["+2.0 s" in shown, "+2.5 s" in shown] == [True, True]
    unasked = step("SOURCE", "UNKNOWN", "How the file came cannot be asked right now.")
    api.respond("ExplainOffer", explanation({**REJECTED, "steps": [unasked, later, batch]}))
    shown = terminal("offer", "explain", "home-and-garden", "default", "S-016").out
    assert "Times of 2026-11-21\n" in shown
    assert "+" not in shown, "an offset from another moment would mean another thing"


LINK = "https://shop.example/exports/of-the-year/2026/for-everybody/price-list-of-all-goods.yml"


def test_long_links_fit_their_column(api: Any, terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"The file could not be fetched (HTTP_NOT_FOUND). {LINK} answered 404."
    row = {**REJECTED, "steps": [step("SOURCE", "STOPPED", text, 1, code="HTTP_NOT_FOUND", excerpt="<a>" * 60)]}
    api.respond("ExplainOffer", explanation(row))
    command = ("offer", "explain", "home-and-garden", "default", "S-016")
    shown = terminal(*command).out
    assert max(map(len, shown.splitlines())) <= 80
    assert "https://shop.example/exports/o…" in shown
    assert "goods.yml" in shown
    assert shown.count("(HTTP_NOT_FOUND)") == 1
    for name in ("TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name)
    piped = terminal(*command).out
    assert [LINK in piped, "<a>" * 60 in piped] == [True, True], "a program reads all of it"
    monkeypatch.setenv("COLUMNS", "80")
    assert terminal(*command).out == shown


def test_way_over_midnight_shows_the_days(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    row = {
        "name": NAME + "a/b c",
        "fate": "OFFER_FATE_BANNED",
        "summary": "Moderation refused it.",
        "steps": [
            {**step("SOURCE", "DONE", "Fetched."), "time": "2026-11-21T20:59:30Z"},
            {**step("MODERATION", "STOPPED", "Refused."), "time": "2026-11-22T23:01:00Z"},
        ],
    }
    api.respond("ExplainOffer", explanation(row))
    snapshot("offer-explain-days", terminal("offer", "explain", "home-and-garden", "default", "a/b c"))


def test_offer_that_nobody_sent_is_a_report_too(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    row = {
        "name": NAME + "Z",
        "fate": "OFFER_FATE_NEVER_SEEN",
        "summary": "No load that is remembered had it.",
        "suggestion": "Check the id, and that the file has it.",
    }
    api.respond("ExplainOffer", explanation(row))
    snapshot("offer-explain-never-seen", terminal("offer", "explain", "home-and-garden", "default", "Z"))


def test_file_cannot_write_on_the_terminal(api: Any, terminal: Any) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\u202egnp\ufffd\ue000\nfake: SEARCHABLE"
    row = {
        "name": NAME + "e\nX",
        "fate": "OFFER_FATE_REJECTED",
        "summary": evil,
        "steps": [step("CHECKS", "STOPPED", evil, excerpt=evil + "x" * 300, line=1)],
    }
    api.respond("ExplainOffer", explanation(row))
    out = terminal("offer", "explain", "home-and-garden", "default", "e\nX").out
    assert not {"\x1b", "\x07", "\u202e", "\ue000"} & set(out)
    assert "\\u001b[2J" in out
    assert not any(line.startswith(("fake", "X")) for line in out.splitlines())
    assert max(map(len, out.splitlines())) <= 80


def test_no_such_seller_is_refused(api: Any, terminal: Any, refusal: Any) -> None:
    api.respond("ExplainOffer", refusal("NOT_FOUND", "SELLER_NOT_FOUND", "There is no seller x."))
    ended = terminal("offer", "explain", "x", "default", "1", "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (1, "SELLER_NOT_FOUND")
    assert terminal("offer", "explain", "x", "Летний", "1").exit_code == 1


def test_fault_of_a_long_line_is_in_sight_with_a_caret_under_it(api: Any, terminal: Any) -> None:
    excerpt = f"<offer><url>https://shop.example/{'a' * 60}</url><price>19 900 руб.</price><currencyId>RUR</currencyId>"
    steps = [step("CHECKS", "STOPPED", "The price is “19 900 руб.”.", 1.3, line=3, column=1, excerpt=excerpt)]
    api.respond("ExplainOffer", explanation({**REJECTED, "steps": steps}))
    lines = terminal("offer", "explain", "home-and-garden", "default", "S-016").out.splitlines()
    [number] = [number for number, line in enumerate(lines) if "│" in line and "^" not in line]
    assert max(map(len, lines)) <= 80
    caret = lines[number + 1]
    assert lines[number][caret.index("^") : caret.rindex("^") + 1] == "19 900 руб."
