"""Unexpected elements among the offers, mostly offers with a misspelt tag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_SHOWN_TAGS = 20


@dataclass(slots=True)
class StrayTag:
    """A tag of unexpected elements.

    Attributes:
        line: Line of the first one.
        count: Number of elements with this tag.
    """

    line: int
    count: int = 0


class StrayTags:
    """Counts unexpected elements by tag, in the order of the file. It keeps only the first tags, to bound memory."""

    def __init__(self) -> None:
        self._tags: dict[str, StrayTag] = {}
        self._others = 0

    def add(self, name: str, find_line: Callable[[], int]) -> None:
        """Count an element; its line is read if it is the first one with its tag."""
        tag = self._tags.get(name)
        if tag is None:
            if len(self._tags) == _SHOWN_TAGS:
                self._others += 1
                return
            tag = self._tags[name] = StrayTag(find_line())
        tag.count += 1

    def first(self) -> tuple[str, int] | None:
        """Return tag and line of the first unexpected element; None: there is none."""
        return next(((name, tag.line) for name, tag in self._tags.items()), None)

    def warning(self, show: Callable[[str], str], skipped_lines: int) -> str:
        """Return a warning about all unexpected elements.

        Args:
            show: Function that returns a tag for messages.
            skipped_lines: Number of line breaks before the content.
        """
        counted = [
            f"<{show(name)}> ({tag.count:,}, first on line {tag.line + skipped_lines})"
            for name, tag in self._tags.items()
        ]
        more = f" and {self._others:,} more elements" if self._others else ""
        return f"Tags among the offers that are not offers were left out: {', '.join(counted)}{more}."
