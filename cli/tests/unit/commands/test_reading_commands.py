"""Commands that read loads, offers and hits: tables at 80 columns, pages, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.documents.v1 import document_pb2
from classifeed.feeds.v1 import task_pb2, task_service_pb2
from classifeed.offers.v1 import offer_pb2, offer_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_client import task_name

Snapshot = Callable[[str, Any], None]
TASKS = [
    {
        "task_id": 12, "status": "TASK_STATUS_SUCCEEDED", "kind": "TASK_KIND_LOAD", "source_bytes": 14310,
        "file_name": "a-price-list-with-a-name-that-is-longer-than-any-terminal-is-wide-and-then-some.yml",
        "create_time": "2026-11-21T19:50:03Z", "end_time": "2026-11-21T19:56:48.250Z",
        "statistics": {
            "total": 1234567, "added": 1000000, "updated": 34567, "unchanged": 199000, "rejected_validation": 900,
            "rejected_moderation": 90, "skipped": 7, "duplicates": 3, "removed": 12, "made_manual": 4, "errors": 3,
        },
    },
    {
        "task_id": 11, "status": "TASK_STATUS_IN_PROGRESS", "kind": "TASK_KIND_LOAD", "source_bytes": 512,
        "fetch": "sellers/my-shop/feeds/default/fetches/14", "statistics": {}, "create_time": "2026-11-21T19:49:00Z",
    },
    {
        "task_id": 10, "status": "TASK_STATUS_SUCCEEDED", "kind": "TASK_KIND_DELETE", "statistics": {"removed": 30},
        "create_time": "2026-11-20T21:10:00Z", "end_time": "2026-11-20T21:10:00.120Z",
    },
    {
        "task_id": 9, "status": "TASK_STATUS_FAILED", "kind": "TASK_KIND_LOAD", "error_code": "MALFORMED_XML",
        "error_line": 5, "file_name": "price.yml", "create_time": "2026-11-20T20:00:00Z",
        "end_time": "2026-11-20T20:00:01Z",
    },
]  # fmt: skip
ERROR = {
    "external_id": "S-016", "ordinal": 16, "line": 171, "column": 16, "level": "ISSUE_LEVEL_ERROR",
    "code": "PRICE_INVALID", "title": "The price is no number.",
    "message": "The price is “19 900 руб.”; a price is a plain number, with a point before cents where there are any.",
    "suggestion": "Write 19900, and the currency in <currencyId>.",
}  # fmt: skip


def task(row: dict[str, Any]) -> task_pb2.Task:
    return ParseDict(row, task_pb2.Task())


def errors(*rows: dict[str, Any], token: str = "") -> task_service_pb2.ListOfferErrorsResponse:
    return ParseDict({"errors": list(rows), "next_page_token": token}, task_service_pb2.ListOfferErrorsResponse())


def test_tasks(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("ListTasks", task_service_pb2.ListTasksResponse(tasks=[task(row) for row in TASKS]))
    snapshot("task-list", terminal("task", "list", "my-shop", "default"))
    api.respond("ListTasks", task_service_pb2.ListTasksResponse())
    assert terminal("task", "list", "my-shop", "default").out == "my-shop has no loads in default.\n"


def test_task(api: Any, terminal: Any) -> None:
    api.respond("GetTask", task({**TASKS[0], "seller_id": "my-shop", "namespace": "default"}))
    ended = terminal("task", "show", "my-shop", "default", "12")
    assert (ended.exit_code, ended.out.splitlines()[0]) == (0, "Task 12 of my-shop/default: SUCCEEDED")
    assert api.requests["GetTask"][0].name == "sellers/my-shop/feeds/default/tasks/12"


@pytest.mark.parametrize("given", [(), ("latest",)], ids=["", "latest"])
def test_the_newest_task_needs_no_number(api: Any, terminal: Any, given: tuple[str, ...]) -> None:
    newest = {**TASKS[0], "seller_id": "my-shop", "namespace": "default", "name": task_name("my-shop", "default", 12)}
    api.respond("ListTasks", task_service_pb2.ListTasksResponse(tasks=[task(newest)]))
    api.respond("GetTask", task(newest))
    ended = terminal("task", "show", "my-shop", "default", *given)
    assert (ended.exit_code, ended.out.splitlines()[0]) == (0, "Task 12 of my-shop/default: SUCCEEDED")
    assert api.requests["ListTasks"][0].page_size == 1
    assert api.requests["GetTask"][0].name == newest["name"]
    api.respond("ListTasks", task_service_pb2.ListTasksResponse())
    none = terminal("task", "show", "my-shop", "default", *given, "--json")
    assert (none.exit_code, none.document["error"]["reason"]) == (1, "TASK_NOT_FOUND")


@pytest.mark.parametrize("given", ["0", "-1", "x", "1234567890123456789"])
def test_what_is_no_task_is_refused_with_the_way_to_one(api: Any, terminal: Any, given: str) -> None:
    ended = terminal("task", "show", "my-shop", "default", "--", given)
    assert ended.exit_code == 2
    assert "classifeed task list" in " ".join(ended.err.split())
    assert api.requests == {}


def test_errors_come_from_all_pages(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    api.respond("GetTask", task(TASKS[0]))
    evil = {**ERROR, "external_id": "x\x1b[2J\nfake", "line": 0, "level": "ISSUE_LEVEL_WARNING", "suggestion": ""}
    api.respond("ListOfferErrors", errors(ERROR, token="next"), errors(evil))
    ended = terminal("task", "errors", "my-shop", "default", "12", "--code", "PRICE_INVALID", "--flat")
    snapshot("task-errors", ended)
    requests = api.requests["ListOfferErrors"]
    assert [(request.page_token, request.page_size) for request in requests] == [("", 100), ("next", 99)]
    assert requests[1].code == "PRICE_INVALID"
    api.respond("ListOfferErrors", errors(ERROR, token="next"))
    assert "more than 1" in terminal("task", "errors", "my-shop", "default", "12", "--flat", "--limit", "1").out


def test_issues_that_are_only_counted_are_reported(api: Any, terminal: Any) -> None:
    flood = {"level": "ISSUE_LEVEL_ERROR", "code": "PRICE_INVALID", "count": 250_006, "unlisted": 249_956}
    rows = [{**flood, "field": field} for field in ("price", "oldprice")]
    counted = {**TASKS[0], "seller_id": "my-shop", "namespace": "default"}
    api.respond("GetTask", task({**counted, "statistics": {"total": 500_012, "issues": rows}}))
    shown = "counted and not kept by the version that loaded this file: 499,912 with PRICE_INVALID."
    assert shown in " ".join(terminal("task", "show", "my-shop", "default", "12").out.split())
    page = errors(ERROR)
    page.unlisted.add(code="PRICE_INVALID", count=499_912)
    api.respond("ListOfferErrors", page)
    load = ("task", "errors", "my-shop", "default", "12")
    assert shown in " ".join(terminal(*load).out.split())
    del page.errors[:]
    api.respond("ListOfferErrors", page)
    words = " ".join(terminal(*load, "--offer", "S-999").out.split())
    assert (shown in words, "has no issue" in words) == (True, False)
    api.respond("ListOfferErrors", page)
    assert terminal(*load, "--json").document["unlisted"] == [{"code": "PRICE_INVALID", "count": "499912"}]


def test_hits(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    fields = {"seller": "my-shop", "namespace": "default", "external_id": "G-101", "currency": "RUB"}
    title = "Скамейка садовая с чугунными ножками, которая стоит в саду и не боится дождя"
    found = search_service_pb2.SearchResponse(total=7)
    hit = found.hits.add()
    for name, value in {**fields, "title": title}.items():
        hit.fields.add(name=name, values=[document_pb2.Value(string_value=value)])
    hit.fields.add(name="price", values=[document_pb2.Value(double_value=14900)])
    api.respond("Search", found)
    snapshot("search", terminal("search", "скамейки"))
    document = terminal("search", "скамейки", "--json").document
    assert (document["total"], document["hits"][0]["title"]) == ("7", title)


@pytest.mark.parametrize(
    ("hint", "lines"),
    [
        (
            {"unmatched": ["сиреневая"], "query": "скамейка & стол", "total": 7},
            ['no offer has "сиреневая"', "without it 7 found: classifeed search 'скамейка & стол'"],
        ),
        (
            {"unmatched": ["лиловая", '"в горошек"'], "left_out": ["детская"], "query": "-стол скамейка", "total": 1},
            [
                'no offer has "лиловая" or "в горошек"',
                'offers have "детская", but none together with the other words',
                "without them 1 found: classifeed search -- '-стол скамейка'",
            ],
        ),
        ({"unmatched": ["сиреневая"]}, ['no offer has "сиреневая"']),
    ],
)
def test_no_hits_say_which_word_has_no_match(api: Any, terminal: Any, hint: dict[str, Any], lines: list[str]) -> None:
    api.respond("Search", search_service_pb2.SearchResponse(hint=search_service_pb2.Hint(**hint)))
    ended = terminal("search", "скамейка & стол сиреневая")
    assert (ended.exit_code, ended.out.splitlines()[-len(lines) - 1 :]) == (0, ["0 found", *lines])
    document = terminal("search", "скамейка", "--json").document
    assert document["hint"] == {"unmatched": [], "left_out": [], "query": ""} | hint | {
        "total": str(hint.get("total", 0))
    }


def test_no_issue_of_an_offer_is_reported_of_that_offer(api: Any, terminal: Any) -> None:
    api.respond("GetTask", task(TASKS[0]))
    api.respond("ListOfferErrors", errors())
    load = ("task", "errors", "my-shop", "default", "12")
    assert terminal(*load, "--offer", "NOPE").out == "The offer NOPE has no issue in this load.\n"
    both = terminal(*load, "--offer", "NOPE", "--code", "X").out
    assert both == "No such issue of the offer NOPE in this load; there are: none.\n"


@pytest.mark.parametrize(("typed", "query"), [("*", ""), (" * ", ""), ("sto*", "sto*")])
def test_a_lone_star_is_everything(api: Any, terminal: Any, typed: str, query: str) -> None:
    api.respond("Search", search_service_pb2.SearchResponse())
    assert terminal("search", typed).exit_code == 0
    assert api.requests["Search"][0].query == query


@pytest.mark.parametrize(
    "arguments",
    [
        ("task", "list", "my shop", "default"),
        ("task", "show", "my-shop", "Лето", "1"),
        ("task", "errors", "", "default", "1"),
        ("offer", "list", "my-shop", "a/b"),
        ("offer", "show", "my-shop", "default", ""),
    ],
    ids=" ".join,
)
def test_names_that_cannot_be_are_refused_in_words(api: Any, terminal: Any, arguments: tuple[str, ...]) -> None:
    ended = terminal(*arguments, "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (1, "REQUEST_INVALID")
    assert "^" not in ended.document["error"]["message"], "words, not a pattern"
    assert api.requests == {}


def test_offers_come_from_all_pages(api: Any, terminal: Any) -> None:
    api.respond(
        "ListOffers",
        ParseDict(
            {"offers": [{"external_id": "A", "status": "OFFER_STATUS_ACTIVE"}], "next_page_token": "n"},
            offer_service_pb2.ListOffersResponse(),
        ),
        ParseDict({"offers": [{"external_id": "B"}]}, offer_service_pb2.ListOffersResponse()),
    )
    document = terminal("offer", "list", "my-shop", "default", "--json").document
    assert [offer["external_id"] for offer in document["offers"]] == ["A", "B"]
    assert document["next_page_token"] == ""


def test_each_picture_of_an_offer_is_stored_awaited_failed_or_a_link(api: Any, terminal: Any) -> None:
    urls = [f"https://a.example/{n}.jpg" for n in range(4)]
    address = {"namespace": "offers", "group_id": 7, "name": "n1", "width": 800, "height": 600}
    pictures = [
        {"url": urls[0], "state": "OFFER_PICTURE_STATE_STORED", "info": address},
        {"url": urls[1], "state": "OFFER_PICTURE_STATE_AWAITED"},
        {"url": urls[2], "state": "OFFER_PICTURE_STATE_FAILED", "failure": {"code": "X", "message": "Not there"}},
    ]
    offer = {"external_id": "A", "content": {"picture_urls": urls}, "pictures": pictures}
    api.respond("GetOffer", ParseDict(offer, offer_pb2.Offer()))
    lines = terminal("offer", "show", "my-shop", "default", "A").out.splitlines()
    first = lines.index(f"  picture   {urls[0]}")
    assert lines[first : first + 7] == [
        f"  picture   {urls[0]}",
        "            stored (800 × 600) at /get/offers/7/n1/orig",
        f"  picture   {urls[1]}",
        "            awaited",
        f"  picture   {urls[2]}",
        "            failed: Not there",
        f"  picture   {urls[3]}",
    ]
