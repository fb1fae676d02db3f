"""Faults of a whole file, which end the task as FAILED with a message for the seller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed_feeds.error_codes import FAULTS

_REASON_CHARS: Final = 1_000
_NAME_CHARS: Final = 80


def shown(name: str) -> str:
    """Return a name from a file, cut to the length of a line for messages."""
    return name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1] + "…"


class FeedFault(Exception):
    """The file cannot be loaded, now or later: the task ends as FAILED and no offer is changed.

    Attributes:
        code: A key of `FAULTS`.
        reason: Description of what is wrong with this file, without the fix.
        line: Line in the file from 1; 0: the fault has no position.
        column: Column in characters from 1; 0: unknown.
        notes: Lines below the message, such as a list of positions.
        fix: Fix of this fault, as sentences; empty: the code's suggestion applies.
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
        """Return the same fault with its position moved down by some lines; a fault without a position keeps none."""
        line = self.line + lines if self.line else 0
        return FeedFault(self.code, self.reason, line=line, column=self.column, notes=self.notes, fix=self.fix)

    @property
    def message(self) -> str:
        """The text for a file that was uploaded."""
        return self.describe(is_fetched=False)

    def describe(self, *, is_fetched: bool) -> str:
        """Return what happened, where, and what to do, in one text for the seller.

        Args:
            is_fetched: whether the file was fetched from a link; otherwise it was uploaded.
        """
        where = f" (line {self.line}, column {self.column})" if self.line and self.column else ""
        where = f" (line {self.line})" if self.line and not self.column else where
        fault = FAULTS[self.code]
        general = fault.suggestion if is_fetched else fault.upload_suggestion or fault.suggestion
        return "\n".join([f"{self.reason}{where}. {self.fix or general}", *self.notes])


def _printable(text: str) -> str:
    """Return a text without unprintable characters: a file may have any, and PostgreSQL cannot store NUL."""
    clean = text if text.isprintable() else "".join(char if char.isprintable() else "." for char in text)
    return clean[:_REASON_CHARS]
