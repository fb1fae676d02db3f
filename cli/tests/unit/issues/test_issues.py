"""What is wrong with offers: listed once for all with the same message, with the place and a caret, or as a file."""

from __future__ import annotations

import csv
import tracemalloc
import zipfile
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.feeds.v1 import load_pb2, task_pb2, task_service_pb2
from classifeed_cli.issues import export as export_module
from classifeed_cli.issues.export import export
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


def page(*issues: load_pb2.OfferError, token: str = "", **unlisted: int) -> task_service_pb2.ListOfferErrorsResponse:
    rest = [task_service_pb2.UnlistedIssues(code=code, count=count) for code, count in unlisted.items()]
    return task_service_pb2.ListOfferErrorsResponse(errors=issues, next_page_token=token, unlisted=rest)


@pytest.fixture
def load(api: Any) -> Any:
    api.respond("GetTask", ParseDict(TASK, task_pb2.Task()))
    return api


def test_equal_messages_are_listed_once(load: Any, terminal: Any, snapshot: Snapshot) -> None:
    same = [issue(number) for number in range(1, 13)]
    other = issue(20, value="free", message="The price is “free”.", excerpt=LONG.replace("19 900 руб.", "free"))
    warning = {"level": "ISSUE_LEVEL_WARNING", "code": "CATEGORY_UNKNOWN", "title": "No such category.", "line": 0}
    unknown = [issue(number, field="", value="", excerpt="", **warning) for number in (30, 31)]
    load.respond("ListOfferErrors", page(other, *same[:6], token="next", PRICE_INVALID=3), page(*same[6:], *unknown,
                PRICE_INVALID=3))  # fmt: skip
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


def cells(path: Path) -> list[list[dict[str, str]]]:
    """Return the rows of each sheet of an Excel file, by the letter of the column, read without the library that
    wrote it.
    """
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as book:
        names = sorted(name for name in book.namelist() if name.startswith("xl/worksheets/sheet"))
        roots = [ElementTree.fromstring(book.read(name)) for name in names]
    for root in roots:
        assert [pane.get("ySplit") for pane in root.iter(f"{space}pane")] == ["1"], "the header stays in sight"
        assert root.find(f"{space}autoFilter") is not None
        assert not root.findall(f".//{space}f"), "no formulas"
    return [
        [
            {cell.attrib["r"].rstrip("0123456789"): "".join(cell.itertext()) for cell in row.iter(f"{space}c")}
            for row in root.iter(f"{space}row")
        ]
        for root in roots
    ]


def test_a_file_has_a_row_for_each_issue(load: Any, terminal: Any, tmp_path: Path) -> None:
    evil = issue(2, value="=cmd|' /C calc'!A1", excerpt="-5", message="-5 \U0001f600 & < >")
    load.respond("ListOfferErrors", page(issue(1), token="n"), page(evil, PRICE_INVALID=9))
    table, book = tmp_path / "e.csv", tmp_path / "e.xlsx"
    ended = terminal(*LOAD, "--csv", str(table), "--xlsx", str(book), "--json")
    assert (ended.exit_code, ended.document["issues"]) == (0, "2")
    assert ended.document["unlisted"] == [{"code": "PRICE_INVALID", "count": "9"}]
    with table.open(newline="", encoding="utf-8-sig") as file:
        head, first, second = csv.reader(file)
    assert head[:7] == ["level", "code", "field", "offer", "line", "column", "what is wrong"]
    assert first[:6] == ["error", "PRICE_INVALID", "price", "S-001", "10", "16"]
    assert (second[8], second[10]) == ("'=cmd|' /C calc'!A1", "-5"), "a spreadsheet runs nothing of it"
    [rows] = cells(book)
    assert list(rows[0].values()) == head
    assert list(rows[1].values()) == [cell for cell in first if cell]
    assert (rows[2]["I"], rows[2]["G"]) == ("=cmd|' /C calc'!A1", "-5 \U0001f600 & < >")
    again = terminal(*LOAD, "--csv", str(table), "--json")
    assert (again.exit_code, again.document["error"]["reason"]) == (1, "FILE_EXISTS")
    assert terminal(*LOAD, "--xlsx", str(tmp_path / "e.xls")).exit_code == 2


def test_a_file_that_fails_half_way_is_not_left_behind(load: Any, terminal: Any, tmp_path: Path, refusal: Any) -> None:
    load.respond("ListOfferErrors", page(issue(1), token="n"), refusal("UNAVAILABLE", "AWAY", "not now"))
    files = ("--csv", str(tmp_path / "e.csv"), "--xlsx", str(tmp_path / "e.xlsx"))
    assert terminal(*LOAD, *files).exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_memory_is_flat_and_full_sheets_have_successors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_module, "SHEET_ROWS", 150)
    one = issue(1)
    assert export(repeat(one, 320), [tmp_path / "small.xlsx"]) == 320
    assert [len(rows) for rows in cells(tmp_path / "small.xlsx")] == [151, 151, 21]
    monkeypatch.setattr(export_module, "SHEET_ROWS", 10_000)

    def peak(count: int) -> int:
        tracemalloc.start()
        export(repeat(one, count), [tmp_path / f"{count}.csv", tmp_path / f"{count}.xlsx"])
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return found

    few, many = peak(250), peak(500)  # both more than what is buffered
    assert many < few + 80_000, "rows are not kept"
