"""Paths of categories, as names from the root on, from the file's own list or from a text."""

from __future__ import annotations

import re
from typing import Final

from classifeed_feeds.scanning.scan import Category

_ARROW: Final = re.compile("[>»→|]")
_SLASH: Final = re.compile(r"\s/\s")
_MAX_DEPTH = 12
# Each of the hundred offers in a message has a path.
_MAX_PATH_CHARS = 600


class CategoryPaths:
    """Cache of category paths."""

    def __init__(self, categories: dict[str, Category]) -> None:
        self._categories = categories
        self._paths: dict[str, tuple[str, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._categories)

    def find(self, category_id: str) -> tuple[str, ...] | None:
        """Return the names from the root on; None: the shop has no such category."""
        path = self._paths.get(category_id)
        if path is None and category_id in self._categories:
            path = self._paths[category_id] = self._read_path(category_id)
        return path

    def _read_path(self, category_id: str) -> tuple[str, ...]:
        names: list[str] = []
        seen: set[str] = set()
        room = _MAX_PATH_CHARS
        # The parent of a category may be missing, and parents may form a cycle.
        while category_id in self._categories and category_id not in seen and len(names) < _MAX_DEPTH:
            seen.add(category_id)
            category = self._categories[category_id]
            if category.name and room >= len(category.name):
                names.append(category.name)
                room -= len(category.name)
            category_id = category.parent_id
        return tuple(reversed(names))


def split_path(text: str) -> list[str]:
    """Return the names of a path from the root on.

    The separator is > or another sign that shops use. A slash is a separator only between blanks, because many names
    contain a slash.
    """
    names: list[str] = []
    room = _MAX_PATH_CHARS
    separator = _ARROW if _ARROW.search(text) else _SLASH
    for name in (" ".join(part.split()) for part in separator.split(text)):
        if name and len(names) < _MAX_DEPTH and room >= len(name):
            names.append(name)
            room -= len(name)
    return names
