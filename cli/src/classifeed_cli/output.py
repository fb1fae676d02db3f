"""What a command prints: tables and sentences for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

_TURNS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_GAP = "  "
_LEAST_WIDTH = 10
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, progress on stderr.")]


class Output:
    """Where a command writes.

    With `as_json`, stdout gets exactly one document (`document`), and everything else goes to stderr or nowhere.
    Without it, stdout is for people, and `document` prints nothing.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.people = _console(stderr=as_json)
        self.errors = _console(stderr=True)

    def document(self, document: Mapping[str, Any]) -> None:
        """Print the command's document, for programs only."""
        if self.as_json:
            print_json(document)

    def say(self, text: str) -> None:
        """Print sentences, for people only; on a terminal each line is wrapped under its own beginning."""
        if self.as_json:
            return
        for line in printable(text).split("\n"):
            indent = line[: len(line) - len(line.lstrip())]
            wrapped = [line]
            if self.people.is_terminal and len(line) > self.people.width:
                wrapped = textwrap.wrap(line, self.people.width, subsequent_indent=indent + "  ") or [line]
            for each in wrapped:
                self.people.print(each, markup=False)

    def progress(self, text: str) -> None:
        """Print a line of progress, always on stderr."""
        self.errors.print(text, style="dim", markup=False)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
        """Print a table, for people only."""
        if self.as_json:
            return
        lines = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(columns, *lines, strict=True)]
        if not self.people.is_terminal:  # a program reads: every character, and no padding behind the last
            for line in (columns, *lines):
                padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
                self.people.print(_GAP.join(padded).rstrip(), markup=False)
            return
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for column, width in zip(columns[:-1], widths[:-1], strict=True):
            table.add_column(column, no_wrap=True, min_width=width)
        room = self.people.width - sum(widths[:-1]) - len(_GAP) * (len(columns) - 1)
        # Of a long row the end is cut, never an id.
        table.add_column(columns[-1], no_wrap=True, overflow="ellipsis", max_width=max(room, _LEAST_WIDTH))
        for line in lines:
            table.add_row(*line)
        self.people.print(table, markup=False, soft_wrap=False)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = 200  # a file or a pipe has no edge to cut addresses at
    return console


def printable(text: str) -> str:
    """The text with everything escaped that a terminal would obey: control characters and turns of direction."""
    return "".join(f"\\u{ord(each):04x}" if _is_obeyed(each) else each for each in text)


def _is_obeyed(character: str) -> bool:
    return character in _TURNS or (character != "\n" and unicodedata.category(character) == "Cc")


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()
