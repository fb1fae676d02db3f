"""Issues as a file for a spreadsheet: one row for each, written as they are read."""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from xlsxwriter import Workbook
from xlsxwriter.exceptions import XlsxFileError
from xlsxwriter.worksheet import Worksheet

from classifeed.feeds.v1 import load_pb2
from classifeed_cli.exit_codes import refused
from classifeed_cli.messages import enum_label

Cell = str | int
_COLUMNS: Final = (
    ("level", 9), ("code", 24), ("field", 16), ("offer", 20), ("line", 9), ("column", 9), ("what is wrong", 60),
    ("what to change", 60), ("value", 30), ("expected", 40), ("excerpt", 60), ("path", 24), ("kind", 12),
)  # fmt: skip
# A spreadsheet's own limit, less the row of the header.
SHEET_ROWS: Final = 1_048_575
# What a spreadsheet takes for a formula when it opens a CSV file; numbers with a sign are none.
_FORMULA: Final = re.compile(r"[=@\t\r]|[+-](?![\d.,\s]*$)")


def export(issues: Iterable[load_pb2.OfferError], files: Sequence[Path]) -> int:
    """Write issues to files, by their suffix .csv or .xlsx, and return how many. Memory stays flat.

    Raises:
        CommandError: a file is there already, or cannot be written; nothing is left behind then.
    """
    count = 0
    with ExitStack() as stack:
        sheets = [stack.enter_context(_KINDS[file.suffix.lower()](file)) for file in files]
        for issue in issues:
            row = _row(issue)
            count += 1
            for sheet in sheets:
                sheet.add(row)
    return count


class _Sheet(ABC):
    """A file that rows are added to; it is removed again where the block that writes it fails."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        try:
            self._file: BinaryIO = self._path.open("xb")
        except FileExistsError:
            raise refused("FILE_EXISTS", f"{self._path} exists already; name another file") from None
        except OSError as error:
            raise refused("FILE_NOT_WRITTEN", f"{self._path}: {error.strerror}") from error
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._end()
            self._file.close()
        except (OSError, XlsxFileError) as fault:
            self._path.unlink(missing_ok=True)
            raise refused("FILE_NOT_WRITTEN", f"{self._path}: {fault}") from fault
        if error is not None:
            self._path.unlink(missing_ok=True)

    @abstractmethod
    def _begin(self) -> None:
        """Write what stands before the rows."""

    @abstractmethod
    def add(self, row: Sequence[Cell]) -> None:
        """Write a row."""

    @abstractmethod
    def _end(self) -> None:
        """Write what stands behind the rows."""


class _Csv(_Sheet):
    """UTF-8 with the mark by which a spreadsheet knows it."""

    def _begin(self) -> None:
        self._text = io.TextIOWrapper(self._file, encoding="utf-8-sig", newline="")
        self._writer = csv.writer(self._text)
        self._writer.writerow(name for name, _ in _COLUMNS)

    def add(self, row: Sequence[Cell]) -> None:
        self._writer.writerow(_harmless(cell) for cell in row)

    def _end(self) -> None:
        self._text.detach()  # which writes what it still holds


class _Xlsx(_Sheet):
    """A header that stays in sight, filters, and further sheets once one is full."""

    def _begin(self) -> None:
        # Texts stay texts, whatever they begin with; rows leave memory as soon as the next one begins.
        options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        self._book = Workbook(self._file, options)
        self._bold = self._book.add_format({"bold": True})
        self._begin_sheet()

    def add(self, row: Sequence[Cell]) -> None:
        if self._rows == SHEET_ROWS:
            self._end_sheet()
            self._begin_sheet()
        self._rows += 1
        for column, cell in enumerate(row):
            self._sheet.write(self._rows, column, cell)

    def _end(self) -> None:
        self._end_sheet()
        self._book.close()

    def _begin_sheet(self) -> None:
        self._sheet: Worksheet = self._book.add_worksheet()
        self._rows = 0
        self._sheet.freeze_panes(1, 0)
        for column, (name, width) in enumerate(_COLUMNS):
            self._sheet.set_column(column, column, width)
            self._sheet.write(0, column, name, self._bold)

    def _end_sheet(self) -> None:
        self._sheet.autofilter(0, 0, self._rows, len(_COLUMNS) - 1)


_KINDS: Final[dict[str, type[_Sheet]]] = {".csv": _Csv, ".xlsx": _Xlsx}


def _row(issue: load_pb2.OfferError) -> tuple[Cell, ...]:
    return (
        enum_label(load_pb2.IssueLevel.DESCRIPTOR, issue.level).lower(),
        issue.code,
        issue.field,
        issue.external_id,
        issue.line,
        issue.column,
        issue.message or issue.title,
        issue.suggestion,
        issue.value,
        issue.expected,
        issue.excerpt,
        issue.path,
        enum_label(load_pb2.IssueKind.DESCRIPTOR, issue.kind).lower(),
    )


def _harmless(cell: Cell) -> Cell:
    """Return a cell that a spreadsheet does not run: what the file of a seller says may have been written by
    anybody.
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
