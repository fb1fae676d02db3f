"""Excerpts of a file for people: one line that fits the terminal, and carets under the fault."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len

from classifeed_cli.terminal.wrapping import cut, one_line

BAR: Final = "│ "
_MARK: Final = "…"


def excerpt_lines(excerpt: str, fault: str, room: int | None) -> list[str]:
    """Return the excerpt, and below it carets under the fault; empty if there is no excerpt.

    Args:
        excerpt: Part of the file.
        fault: Faulty text in the excerpt. If it is empty or not in the excerpt, there are no carets.
        room: Columns of a line; a longer excerpt is cut around the fault. None for no limit.
    """
    text, fault = one_line(excerpt), one_line(fault)
    if not text:
        return []
    width = None if room is None else max(room - cell_len(BAR), 1)
    start = text.find(fault) if fault else -1
    if start < 0:
        return [BAR + (text if width is None else cut(text, width))]
    before, under, after = text[:start], fault, text[start + len(fault) :]
    if width is not None and cell_len(text) > width:
        before, under, after = _fit(before, under, after, width)
    return [BAR + before + under + after, BAR + " " * cell_len(before) + "^" * max(cell_len(under), 1)]


def _fit(before: str, under: str, after: str, width: int) -> tuple[str, str, str]:
    """Cut the parts to `width` columns: the whole fault if possible, and as much around it as fits."""
    under = cut(under, width - 2 * len(_MARK)) if cell_len(under) > width - 2 * len(_MARK) else under
    left = width - cell_len(under)
    keep_after = min(cell_len(after), max(left // 3, left - cell_len(before)))
    before = _end_of(before, left - keep_after)
    return before, under, cut(after, width - cell_len(before) - cell_len(under))


def _end_of(text: str, width: int) -> str:
    """Return the end of a text, cut to `width` columns with an ellipsis if it is too long."""
    if cell_len(text) <= width:
        return text
    end = text
    while end and cell_len(end) > width - len(_MARK):
        end = end[1:]
    return _MARK + end
