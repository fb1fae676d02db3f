"""Write issues as rows of a spreadsheet file: CSV, or an Excel workbook."""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from classifeed.feeds.v1.load_pb2 import IssueKind, IssueLevel, OfferError
from classifeed_common.enum_names import name_of

Cell = str | int
COLUMNS: Final = (
    ("level", 9), ("code", 24), ("field", 16), ("offer", 20), ("line", 9), ("column", 9), ("what is wrong", 60),
    ("what to change", 60), ("value", 30), ("expected", 40), ("excerpt", 60), ("path", 24), ("kind", 12),
)  # fmt: skip
"""Names and widths of the columns."""
SHEET_ROWS: Final = 1_048_575
"""Maximum number of rows of a workbook's sheet, without the header."""
# Text that a spreadsheet takes for a formula when it opens a CSV file; numbers with a sign are not formulas.
_FORMULA: Final = re.compile(r"[=@\t\r]|[+-](?![\d.,\s]*$)")


class Sheet(ABC):
    """A file that rows are added to. Its calls block."""

    @abstractmethod
    def add(self, errors: Sequence[OfferError]) -> None:
        """Write a row for each issue."""

    @abstractmethod
    def end(self) -> None:
        """Write the end of the file."""


class CsvSheet(Sheet):
    """A CSV file in UTF-8, with the byte order mark by which spreadsheets recognise UTF-8."""

    def __init__(self, file: BinaryIO) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        self._writer = csv.writer(self._text)
        self._writer.writerow(name for name, _ in COLUMNS)

    def add(self, errors: Sequence[OfferError]) -> None:
        """Write a row for each issue."""
        self._writer.writerows([_harmless(cell) for cell in row_of(error)] for error in errors)
        self._text.flush()

    def end(self) -> None:
        """Flush the buffer."""
        self._text.detach()


class XlsxSheet(Sheet):
    """A workbook with frozen headers and filters; a full sheet is continued on a new one.

    Args:
        path: path to which `end` writes the file.
        folder: folder for temporary files of the size of the uncompressed workbook, so that memory use is constant.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        # Texts must not become formulas or links.
        options = {
            "constant_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "tmpdir": str(folder),
        }
        self._book = Workbook(str(path), options)
        self._bold = self._book.add_format({"bold": True})
        self._begin_sheet()

    def add(self, errors: Sequence[OfferError]) -> None:
        """Write a row for each issue."""
        for error in errors:
            if self._rows == SHEET_ROWS:
                self._end_sheet()
                self._begin_sheet()
            self._rows += 1
            for column, cell in enumerate(row_of(error)):
                if isinstance(cell, int):
                    self._sheet.write_number(self._rows, column, cell)
                elif cell:
                    self._sheet.write_string(self._rows, column, cell)

    def end(self) -> None:
        """Write the file."""
        self._end_sheet()
        self._book.close()

    def _begin_sheet(self) -> None:
        self._sheet: Worksheet = self._book.add_worksheet()
        self._rows = 0
        self._sheet.freeze_panes(1, 0)
        for column, (name, width) in enumerate(COLUMNS):
            self._sheet.set_column(column, column, width)
            self._sheet.write(0, column, name, self._bold)

    def _end_sheet(self) -> None:
        self._sheet.autofilter(0, 0, self._rows, len(COLUMNS) - 1)


def row_of(error: OfferError) -> tuple[Cell, ...]:
    """Return the cells of an issue, one for each column."""
    return (
        _word(name_of(IssueLevel, error.level), "ISSUE_LEVEL_"),
        error.code,
        error.field,
        error.external_id,
        error.line,
        error.column,
        error.message or error.title,
        error.suggestion,
        error.value,
        error.expected,
        error.excerpt,
        error.path,
        _word(name_of(IssueKind, error.kind), "ISSUE_KIND_"),
    )


def _word(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower()


def _harmless(cell: Cell) -> Cell:
    """Return a cell that a spreadsheet does not execute: the text of a seller's file is not trusted."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell
