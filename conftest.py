"""In which order the tests run."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what takes long first, so that no process is left alone with it at the end, and installations stop early."""
    items.sort(key=lambda item: (item.get_closest_marker("e2e") is None, item.get_closest_marker("slow") is None))
