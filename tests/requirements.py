"""What a machine may lack: a test that needs it is skipped, or fails where CLASSIFEED_REQUIRE names it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REQUIRED = frozenset(filter(None, os.environ.get("CLASSIFEED_REQUIRE", "").split(",")))


def lacking(what: str, reason: str) -> None:
    """End the test: it is skipped, or fails where `what` is required."""
    if what in _REQUIRED:
        pytest.fail(f"CLASSIFEED_REQUIRE names {what}, but {reason}", pytrace=False)
    pytest.skip(f"{what}: {reason}")


def shared_data() -> Path:
    """Return the folder of the shared feeds."""
    folder = Path(os.environ.get("CLASSIFEED_SHARED_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not folder.is_dir():
        lacking("shared", "the folder of real feeds is not there; name it by CLASSIFEED_SHARED_DATA")
    return folder


def go_tool(name: str) -> Path:
    """Return a program written in Go."""
    from tools.gotools import find_tool

    found = find_tool(name)
    if found is None:
        lacking("go", f"{name} cannot be built without Go")
        raise AssertionError("unreachable")
    return found
