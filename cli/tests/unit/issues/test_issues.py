"""Issues in offers: grouped by message, with place and caret, or exported to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.feeds.v1 import load_pb2, task_pb2, task_service_pb2
from classifeed_cli.issues import listing
from classifeed_cli.views.excerpt import excerpt_lines
from classifeed_cli.views.place import place_of, short_place_of

Snapshot = Callable[[str, Any], None]
TASK = {"task_id": 7, "name": "sellers/s/feeds/n/tasks/7", "seller_id": "s", "namespace": "n"}
LOAD = ("task", "errors", "s", "n", "7")
LONG = "<offer id='1'><url>https://shop.example/" + "a" * 90 + "</url><price>19 900 руб.</price><oldprice>2</oldprice>"


def issue(number: int, **fields: Any) -> load_pb2.OfferError:
    row = {
        "external_id": f"S-{number:03}", "ordinal": number, "line": 10 * number, "column": 16, "field": "price",
        "level": "ISSUE_LEVEL_ERROR", "kind": "ISSUE_KIND_VALIDATION", "code": "PRICE_INVALID", "value": "19 900 руб.",
        "title": "The price is no number.", "message": "The price is “19 900 руб.”; write a plain number.",
        "suggestion": "Write 19900.", "excerpt": "<price>19 900 руб.</price>", "path": "offer/price",
    }  # fmt: skip
    return ParseDict(row | fields, load_pb2.OfferError())


def page(*issues: load_pb2.OfferError, token: str = "") -> task_service_pb2.ListOfferErrorsResponse:
    return task_service_pb2.ListOfferErrorsResponse(errors=issues, next_page_token=token)


@pytest.fixture
def load(api: Any) -> Any:
    api.respond("GetTask", ParseDict(TASK, task_pb2.Task()))
    return api


def test_equal_messages_are_listed_once(load: Any, terminal: Any, snapshot: Snapshot) -> None:
    same = [issue(number) for number in range(1, 13)]
    other = issue(20, value="free", message="The price is “free”.", excerpt=LONG.replace("19 900 руб.", "free"))
    warning = {"level": "ISSUE_LEVEL_WARNING", "code": "CATEGORY_UNKNOWN", "title": "No such category.", "line": 0}
    unknown = [issue(number, field="", value="", excerpt="", **warning) for number in (30, 31)]
    load.respond("ListOfferErrors", page(other, *same[:6], token="next"), page(*same[6:], *unknown))
    snapshot("task-errors-groups", terminal(*LOAD))
    assert [request.page_token for request in load.requests["ListOfferErrors"]] == ["", "next"]
    load.respond("ListOfferErrors", page(other, *same, *unknown))
    assert "… and 2 more groups; increase --limit to see them" in " ".join(terminal(*LOAD, "--limit", "1").out.split())
    load.respond("ListOfferErrors", page(other, *same, *unknown))
    assert len(terminal(*LOAD, "--json").document["errors"]) == 15, "programs get each, as ever"


def test_a_place_that_is_not_known_is_not_made_up() -> None:
    known, unknown = load_pb2.OfferError(ordinal=3), load_pb2.OfferError()
    assert (place_of(known), place_of(unknown), short_place_of(unknown)) == ("offer 3 of the file", "offer", "offer")


@pytest.mark.parametrize("room", [30, 44, 76, None])
@pytest.mark.parametrize("fault", ["19 900 руб.", "<offer id='1'>", "2</oldprice>", LONG])
def test_the_fault_is_in_sight_with_a_caret_under_it(room: int | None, fault: str) -> None:
    excerpt, caret = excerpt_lines(LONG, fault, room)
    assert room is None or max(len(excerpt), len(caret)) <= room
    under = excerpt[caret.index("^") : caret.rindex("^") + 1]
    assert under == fault or (under.endswith("…") and fault.startswith(under[:-1]))


def test_an_excerpt_without_the_fault_is_its_beginning() -> None:
    assert excerpt_lines("<price>1</price>", "", 76) == ["│ <price>1</price>"]
    assert excerpt_lines("<price>1</price>", "free", 12) == ["│ <price>1<…"]
    assert excerpt_lines("", "free", 12) == []


@pytest.mark.parametrize(
    ("element", "is_found"),
    [("<g:title></g:title>", True), ("<g:title lang='en'/>", True), ("<g:title>Sofa</g:title>", False)],
)
def test_a_value_that_is_missing_has_its_caret_under_the_empty_element(
    load: Any, terminal: Any, element: str, is_found: bool
) -> None:
    excerpt = f"<g:id>T-305</g:id> {element} <g:link>1</g:link>"
    load.respond("ListOfferErrors", page(issue(1, field="g:title", value="", excerpt=excerpt)))
    shown = terminal(*LOAD).out
    assert (f"    │ {excerpt}\n    │ {' ' * excerpt.index(element)}{'^' * len(element)}\n" in shown) == is_found
    assert ("^" in shown) == is_found


def pieces(*contents: bytes, issues: int) -> list[task_service_pb2.ExportOfferErrorsResponse]:
    return [task_service_pb2.ExportOfferErrorsResponse(content=content, issues=issues) for content in contents]


def test_files_have_what_the_server_sends(load: Any, terminal: Any, tmp_path: Path) -> None:
    load.respond("ExportOfferErrors", pieces(b"a,", b"b", issues=2), pieces(b"PK", issues=2))
    table, book = tmp_path / "e.csv", tmp_path / "e.xlsx"
    ended = terminal(*LOAD, "--csv", str(table), "--xlsx", str(book), "--level", "error", "--field", "price", "--json")
    assert (ended.exit_code, ended.document["issues"], ended.document["unlisted"]) == (0, "2", [])
    assert (table.read_bytes(), book.read_bytes()) == (b"a,b", b"PK")
    first, second = load.requests["ExportOfferErrors"]
    assert (first.format, second.format) == (task_service_pb2.EXPORT_FORMAT_CSV, task_service_pb2.EXPORT_FORMAT_XLSX)
    assert (first.level, first.field) == (load_pb2.ISSUE_LEVEL_ERROR, "price")
    again = terminal(*LOAD, "--csv", str(table), "--json")
    assert (again.exit_code, again.document["error"]["reason"]) == (1, "FILE_EXISTS")
    assert terminal(*LOAD, "--xlsx", str(tmp_path / "e.xls")).exit_code == 2


def test_a_file_that_fails_is_not_left_behind(load: Any, terminal: Any, tmp_path: Path, refusal: Any) -> None:
    load.respond("ExportOfferErrors", refusal("UNAVAILABLE", "AWAY", "not now"))
    assert terminal(*LOAD, "--csv", str(tmp_path / "e.csv")).exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_a_large_load_is_grouped_by_its_first_issues(load: Any, terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "GROUPED", 2)
    load.respond("ListOfferErrors", page(issue(1), issue(2), issue(3)))
    shown = " ".join(terminal(*LOAD).out.split())
    assert "These are groups of the first 2 issues" in shown
    assert "--xlsx" in shown


def test_issues_that_an_older_version_did_not_keep_are_named_with_what_to_do(api: Any, terminal: Any) -> None:
    lost = {"level": "ISSUE_LEVEL_ERROR", "code": "PRICE_INVALID", "count": 1500, "unlisted": 1400}
    api.respond("GetTask", ParseDict(TASK | {"statistics": {"issues": [lost]}}, task_pb2.Task()))
    api.respond("ListOfferErrors", page(issue(1)))
    shown = " ".join(terminal(*LOAD).out.split())
    assert "1,400 with PRICE_INVALID" in shown
    assert "`classifeed task rerun s n 7`" in shown
