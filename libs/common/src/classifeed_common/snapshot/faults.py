"""Faults of a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Path: TypeAlias = Sequence[str | int]


class DocumentFault(ValueError):
    """A fault in a document.

    Args:
        words: the fault, and the allowed values.
        path: keys and indexes from the top of the document; empty: the whole document.
        line: line number from 1; None: not known yet.
    """

    def __init__(self, words: str, path: Path = (), line: int | None = None) -> None:
        super().__init__(words)
        self.words = words
        self.path = tuple(path)
        self.line = line

    def __str__(self) -> str:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).lstrip(".")
        where = ", ".join(filter(None, (f"line {self.line}" if self.line is not None else "", place)))
        return f"{where}: {self.words}" if where else self.words


class SourceMissing(Exception):
    """The file does not exist; the message names it."""


class SnapshotError(Exception):
    """There is no valid first version; the message is one line for a person."""
