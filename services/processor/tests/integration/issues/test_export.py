"""The file of all issues: complete, readable by a spreadsheet, and written in bounded memory."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from lxml import etree

from classifeed.feeds.v1.load_pb2 import ISSUE_LEVEL_WARNING
from classifeed.feeds.v1.task_service_pb2 import (
    EXPORT_FORMAT_CSV,
    EXPORT_FORMAT_XLSX,
    ExportOfferErrorsRequest,
    ListOfferErrorsRequest,
)
from classifeed.feeds.v1.task_service_pb2_grpc import TaskServiceStub
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_jobs import JobStore
from classifeed_processor.app.issues import export_issues, make_sheets
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.rpc.task_service import task_servicer

from .conftest import Load, bad_price, long_title

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
FLAWED = 250


@pytest.fixture
async def stub(load: Load, rpc_server: StartServer, rpc_channel: OpenChannel) -> TaskServiceStub:
    export = ExportIssues(ReadIssues(load.database, load.blobs), load.folder / "spool")
    locate = LocateOffer(load.database, load.blobs, load.folder / "spool")
    target = await rpc_server("processor", task_servicer(load.database, JobStore(), load.blobs, export, locate))
    for batch in range(15):
        ordinals = range(FLAWED * batch // 15 + 1, FLAWED * (batch + 1) // 15 + 1)
        await load.take([make(ordinal) for ordinal in ordinals for make in (bad_price, long_title)])
    await load.end()
    await load.pack()
    return TaskServiceStub(rpc_channel(target, caller="api", audience="processor"))


async def exported(stub: TaskServiceStub, load: Load, export_format: Any, **wanted: Any) -> tuple[bytes, int]:
    request = ExportOfferErrorsRequest(parent=load.key.name, format=export_format, **wanted)
    content, count = b"", 0
    async for piece in stub.ExportOfferErrors(request, timeout=60):
        content, count = content + piece.content, piece.issues
    return content, count


def sheets_of(content: bytes) -> list[list[dict[str, str]]]:
    """Return the rows of each sheet by the letter of the column, read without the library that writes them."""
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        names = sorted(name for name in book.namelist() if name.startswith("xl/worksheets/sheet"))
        roots = [etree.fromstring(book.read(name)) for name in names]
    for root in roots:
        assert [pane.get("ySplit") for pane in root.iter(f"{SPACE}pane")] == ["1"], "the header stays in sight"
        assert root.find(f"{SPACE}autoFilter") is not None
        assert not root.findall(f".//{SPACE}f"), "no formulas"
    return [
        [
            {
                str(cell.get("r")).rstrip("0123456789"): "".join(map(str, cell.itertext()))
                for cell in row.iter(f"{SPACE}c")
            }
            for row in root.iter(f"{SPACE}row")
        ]
        for root in roots
    ]


async def test_csv_and_excel_have_a_row_for_each_issue(stub: TaskServiceStub, load: Load) -> None:
    listed = await stub.ListOfferErrors(ListOfferErrorsRequest(parent=load.key.name, page_size=1000))
    content, count = await exported(stub, load, EXPORT_FORMAT_CSV)
    head, *rows = csv.reader(io.StringIO(content.decode("utf-8-sig")))
    assert head[:7] == ["level", "code", "field", "offer", "line", "column", "what is wrong"]
    assert count == len(rows) == len(listed.errors) == 2 * FLAWED
    assert [(row[3], row[6]) for row in rows] == [(error.external_id, error.message) for error in listed.errors]
    assert all(row[6] and row[7] and row[10] for row in rows), "each says what, what to change, and where"
    book, count = await exported(stub, load, EXPORT_FORMAT_XLSX)
    [sheet] = sheets_of(book)
    assert count == len(sheet) - 1 == 2 * FLAWED
    assert list(sheet[0].values()) == head
    assert [list(row.values()) for row in sheet[1:]] == [[cell for cell in row if cell] for row in rows]


async def test_an_issue_that_has_a_row_keeps_its_parameters(stub: TaskServiceStub, load: Load) -> None:
    for ordinal in (3, 240):  # with a row, and in the file
        request = ListOfferErrorsRequest(parent=load.key.name, level=ISSUE_LEVEL_WARNING, external_id=f"a{ordinal}")
        [error] = (await stub.ListOfferErrors(request)).errors
        assert f"1,{ordinal:03}" in error.message or f"1{ordinal:03}" in error.message


async def test_a_full_sheet_has_a_successor(stub: TaskServiceStub, load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_sheets, "SHEET_ROWS", 300)
    book, _ = await exported(stub, load, EXPORT_FORMAT_XLSX)
    assert [len(sheet) for sheet in sheets_of(book)] == [301, 2 * FLAWED - 300 + 1]


async def test_an_export_takes_the_filters_of_the_list(stub: TaskServiceStub, load: Load) -> None:
    content, count = await exported(stub, load, EXPORT_FORMAT_CSV, level=ISSUE_LEVEL_WARNING, external_id="a240")
    [_, row] = csv.reader(io.StringIO(content.decode("utf-8-sig")))
    assert (count, row[:4]) == (1, ["warning", "TITLE_TOO_LONG", "name", "a240"])
    assert "1,240" in row[6] or "1240" in row[6], "the parameter is in the sentence"
    content, count = await exported(stub, load, EXPORT_FORMAT_XLSX, field="nothing")
    assert (count, [len(sheet) for sheet in sheets_of(content)]) == (0, [1])


async def test_a_seller_with_as_many_exports_as_he_may_have_is_refused(
    stub: TaskServiceStub, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_issues, "MAX_EXPORTS_OF_SELLER", 1)
    monkeypatch.setattr(export_issues, "_ROWS", 1)
    request = ExportOfferErrorsRequest(parent=load.key.name, format=EXPORT_FORMAT_CSV)
    call = stub.ExportOfferErrors(request, timeout=60)
    pieces: AsyncIterator[Any] = aiter(call)
    await anext(pieces)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await exported(stub, load, EXPORT_FORMAT_CSV)
    assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "EXPORTS_FULL" in str(refused.value.trailing_metadata())
    async for _ in pieces:
        pass
    assert (await exported(stub, load, EXPORT_FORMAT_CSV))[1] == 2 * FLAWED, "its place is free again"


async def test_a_text_that_a_spreadsheet_would_run_is_harmless(stub: TaskServiceStub, load: Load) -> None:
    await load.take_late([bad_price(900, value="=cmd|' /C calc'!A1", message="-5 < & >")])
    content, _ = await exported(stub, load, EXPORT_FORMAT_CSV, external_id="a900")
    [_, row] = csv.reader(io.StringIO(content.decode("utf-8-sig")))
    assert row[8] == "'=cmd|' /C calc'!A1"
    book, _ = await exported(stub, load, EXPORT_FORMAT_XLSX, external_id="a900")
    [[_, cells]] = sheets_of(book)
    assert (cells["G"], cells["I"]) == ("-5 < & >", "=cmd|' /C calc'!A1")
