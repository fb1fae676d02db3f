"""What a command prints: tables and sentences for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

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
        """Print a sentence."""
        self.people.print(text, markup=False)

    def progress(self, text: str) -> None:
        """Print a line of progress, always on stderr."""
        self.errors.print(text, style="dim", markup=False)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
        """Print a table, for people only."""
        if self.as_json:
            return
        table = Table(*columns, title=title, title_justify="left", box=None, pad_edge=False)
        for row in rows:
            table.add_row(*("" if cell is None else str(cell) for cell in row))
        self.people.print(table, markup=False)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = 200  # a file or a pipe has no edge to cut addresses at
    return console


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()
