"""Output of commands: tables and sentences for people, or one JSON document for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable

from classifeed_cli.terminal.colours import Words
from classifeed_cli.terminal.table import Item, Table
from classifeed_cli.terminal.wrapping import cut, one_line, printable, wrapped

_GAP = "  "
_LEAST_WIDTH = 10
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, progress on stderr.")]


class Output:
    """Output of a command.

    With `as_json`, stdout gets exactly one document (`document`), and other output goes to stderr or is dropped.
    Without it, stdout is for people, and `document` prints nothing.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.people = _console(stderr=as_json)
        self.errors = _console(stderr=True)

    @property
    def edge(self) -> int | None:
        """Width of lines for people; None for no limit, if a program reads the output."""
        return _edge(self.people)

    def document(self, document: Mapping[str, Any]) -> None:
        """Print the command's JSON document, with --json only."""
        if self.as_json:
            print_json(document)

    def say(self, text: str, hang: int | None = None, style: str | None = None) -> None:
        """Print sentences, for people only.

        Lines are wrapped at the edge. Continuation lines are indented by `hang`, by default two columns more than the
        first line. `style` is a style of rich for the whole text; by default, some words are coloured by their meaning.
        """
        if not self.as_json:
            _print_wrapped(self.people, text, hang, style)

    def fail(self, text: str) -> None:
        """Print the error of the command on stderr."""
        _print_wrapped(self.errors, text, style="red")

    def ask(self, text: str) -> None:
        """Print a question on stderr, without a line break."""
        self.errors.print(printable(text), end="", markup=False)

    def progress(self, text: str) -> None:
        """Print a line of progress, always on stderr."""
        self.errors.print(printable(text), style="dim", markup=False)

    def fields(self, values: Mapping[str, object], width: int = 9) -> None:
        """Print labelled values, each on its own line, for people only; empty values are omitted."""
        for label, value in values.items():
            if value:
                self.say(f"  {label:<{width}} {value}", hang=width + 3)

    def rows(self, table: Table[Item], items: Iterable[Item], *, more_than: int | None = None) -> None:
        """Print a row for each item, for people only.

        Args:
            table: the columns.
            items: the items.
            more_than: the `--limit` that left out further items; None if there are none.
        """
        listed = list(items)
        if table.empty and not listed:
            self.say(table.empty)
        elif table.below is None:
            self.table(list(table.columns), map(table.cells, listed))
        else:
            self.entries(list(table.columns), [(table.cells(item), table.below(item)) for item in listed])
        if more_than is not None:
            self.say(f"… more than {more_than}; increase --limit to see more")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
        """Print a table, for people only."""
        if self.as_json:
            return
        lines = [list(map(_cell, row)) for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(columns, *lines, strict=True)]
        if self.edge is None:  # for programs: nothing is cut, and no padding after the last column
            for line in (columns, *lines):
                self.people.print(_padded(line, widths), markup=False)
            return
        table = RichTable(title=title, title_justify="left", box=None, pad_edge=False, highlight=True)
        for column, width in zip(columns[:-1], widths[:-1], strict=True):
            table.add_column(column, no_wrap=True, min_width=width)
        # A long row is cut at its end, never in an id.
        table.add_column(columns[-1], no_wrap=True, overflow="ellipsis", max_width=self._room(widths))
        for line in lines:
            table.add_row(*line)
        self.people.print(table, markup=False, soft_wrap=False)

    def entries(self, columns: Sequence[str], rows: Iterable[tuple[Sequence[object], Sequence[str]]]) -> None:
        """Print a table whose rows may have lines below them, for people only; empty lines are omitted."""
        if self.as_json:
            return
        table = [(list(columns), list[str]()), *((list(map(_cell, cells)), list(below)) for cells, below in rows)]
        widths = [max(map(cell_len, column)) for column in zip(*(cells for cells, _ in table), strict=True)]
        for cells, below in table:
            if self.edge is not None:
                cells[-1] = cut(cells[-1], self._room(widths))
            self.people.print(_padded(cells, widths), markup=False, highlight=True)
            for line in filter(None, below):
                indent = widths[0] + len(_GAP)
                self.say(" " * indent + one_line(line), hang=indent)

    def _room(self, widths: Sequence[int]) -> int:
        """Return the width of the last column."""
        return max(self.people.width - sum(widths[:-1]) - len(_GAP) * len(widths[1:]), _LEAST_WIDTH)


def _cell(value: object) -> str:
    return "" if value is None else one_line(str(value))


def _padded(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    return _GAP.join(padded).rstrip()


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, highlighter=Words(), soft_wrap=True, emoji=False)
    if _edge(console) is None:
        console.width = 200  # in a file or a pipe, addresses are not cut
    return console


def _edge(console: Console) -> int | None:
    """Return the width of the terminal, or COLUMNS for a pipe; None if neither is known."""
    columns = os.environ.get("COLUMNS", "")
    return console.width if console.is_terminal or (columns.isdigit() and int(columns) > 0) else None


def _print_wrapped(console: Console, text: str, hang: int | None = None, style: str | None = None) -> None:
    for line in printable(text).split("\n"):
        lines = [line]
        edge = _edge(console)
        if edge is not None and cell_len(line) > edge:
            indent = len(line) - len(line.lstrip(" "))
            lines = wrapped(line, edge, indent + 2 if hang is None else hang)
        for each in lines:
            console.print(each, style=style, markup=False, highlight=style is None)


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()
