"""What can be wrong with a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Path: TypeAlias = Sequence[str | int]


class DocumentFault(ValueError):
    """A document is wrong, here.

    Args:
        words: what is wrong, and what is allowed.
        path: keys and indexes from the top of the document; empty: the document as a whole.
        line: from 1; None: not known yet.
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
    """There is no such file; the text names it."""


class SnapshotError(Exception):
    """There is nothing to begin with; the text is one line for a person."""
