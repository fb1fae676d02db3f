"""Elements among the offers that are no offers: mostly offers whose tag is misspelt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_SHOWN_TAGS = 20


@dataclass(slots=True)
class StrayTag:
    """One name of such elements.

    Attributes:
        line: Where it stands first.
        count: How often it stands there.
    """

    line: int
    count: int = 0


class StrayTags:
    """Counts them by name, in the order of the file. Keeps the first names only: a file may have any number."""

    def __init__(self) -> None:
        self._tags: dict[str, StrayTag] = {}
        self._others = 0

    def add(self, name: str, find_line: Callable[[], int]) -> None:
        """Count an element. Reads its line where it is the first one with its name."""
        tag = self._tags.get(name)
        if tag is None:
            if len(self._tags) == _SHOWN_TAGS:
                self._others += 1
                return
            tag = self._tags[name] = StrayTag(find_line())
        tag.count += 1

    def first(self) -> tuple[str, int] | None:
        """Return name and line of the first one; None when there is none."""
        return next(((name, tag.line) for name, tag in self._tags.items()), None)

    def warning(self, show: Callable[[str], str], skipped_lines: int) -> str:
        """Return the words for all of them.

        Args:
            show: Returns a name as it is shown to people.
            skipped_lines: Line breaks before the content.
        """
        counted = [
            f"<{show(name)}> ({tag.count:,}, first on line {tag.line + skipped_lines})"
            for name, tag in self._tags.items()
        ]
        more = f" and {self._others:,} more elements" if self._others else ""
        return f"Tags among the offers that are not offers were left out: {', '.join(counted)}{more}."
