"""Faults of a whole file: lasting ones, which end the task as FAILED with words for the seller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed_processor.domain.error_codes import FAULTS

_REASON_CHARS: Final = 1_000
_NAME_CHARS: Final = 80


def shown(name: str) -> str:
    """Return a name out of a file as it is shown to people: not longer than a line."""
    return name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1] + "…"


class FeedFault(Exception):
    """The file cannot be loaded, now or later: the task ends as FAILED and no offer is changed.

    Attributes:
        code: A key of `FAULTS`.
        reason: What is wrong with this file, in words, without the fix.
        line: Line in the file from 1, 0 when the fault has no place.
        column: Column in characters from 1, 0 when unknown.
        notes: Lines below the words, such as those of a list.
        fix: What to do about this very fault, as sentences; empty where the words of its code say it.
    """

    def __init__(
        self,
        code: str,
        reason: str,
        *,
        line: int = 0,
        column: int = 0,
        notes: Sequence[str] = (),
        fix: str = "",
    ) -> None:
        self.code = FAULTS[code].code
        self.reason = _printable(reason)
        self.fix = _printable(fix)
        self.line = line
        self.column = column
        self.notes = tuple(notes)
        super().__init__(self.message)

    def below(self, lines: int) -> FeedFault:
        """Return the same fault with its place moved down; one without a place has none there either."""
        line = self.line + lines if self.line else 0
        return FeedFault(self.code, self.reason, line=line, column=self.column, notes=self.notes, fix=self.fix)

    @property
    def message(self) -> str:
        """The text for a file that was uploaded."""
        return self.describe(is_fetched=False)

    def describe(self, *, is_fetched: bool) -> str:
        """Return what happened, where, and what to do, in one text for the seller.

        Args:
            is_fetched: whether the file came by a link, or else by an upload.
        """
        where = f" (line {self.line}, column {self.column})" if self.line and self.column else ""
        where = f" (line {self.line})" if self.line and not self.column else where
        fault = FAULTS[self.code]
        general = fault.suggestion if is_fetched else fault.upload_suggestion or fault.suggestion
        return "\n".join([f"{self.reason}{where}. {self.fix or general}", *self.notes])


def _printable(text: str) -> str:
    """Return words without what cannot be shown: a file may have any character, and the database takes no zero byte."""
    clean = text if text.isprintable() else "".join(char if char.isprintable() else "." for char in text)
    return clean[:_REASON_CHARS]
