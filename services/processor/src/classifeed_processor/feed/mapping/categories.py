"""Names from the root to a category, out of the file's own list or out of a text."""

from __future__ import annotations

import re
from typing import Final

from classifeed_processor.feed.scanning.scan import Category

_ARROW: Final = re.compile("[>»→|]")
_SLASH: Final = re.compile(r"\s/\s")
_MAX_DEPTH = 12
# A path stands in each of a hundred offers of a message.
_MAX_PATH_CHARS = 600


class CategoryPaths:
    """Return category paths; each is worked out once."""

    def __init__(self, categories: dict[str, Category]) -> None:
        self._categories = categories
        self._paths: dict[str, tuple[str, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._categories)

    def find(self, category_id: str) -> tuple[str, ...] | None:
        """Return the names from the root on, or None when the shop has no such category."""
        path = self._paths.get(category_id)
        if path is None and category_id in self._categories:
            path = self._paths[category_id] = self._read_path(category_id)
        return path

    def _read_path(self, category_id: str) -> tuple[str, ...]:
        names: list[str] = []
        seen: set[str] = set()
        room = _MAX_PATH_CHARS
        # Shops name parents that do not exist, and parents in a circle.
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

    They stand with > between them, or one of the signs that shops write instead of it; a slash is one between blanks
    only, as it is a part of many names.
    """
    names: list[str] = []
    room = _MAX_PATH_CHARS
    separator = _ARROW if _ARROW.search(text) else _SLASH
    for name in (" ".join(part.split()) for part in separator.split(text)):
        if name and len(names) < _MAX_DEPTH and room >= len(name):
            names.append(name)
            room -= len(name)
    return names
