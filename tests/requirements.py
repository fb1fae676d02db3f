"""Programs and data that a machine may lack: tests skip without them, or fail if CLASSIFEED_REQUIRE names them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REQUIRED = frozenset(filter(None, os.environ.get("CLASSIFEED_REQUIRE", "").split(",")))


def lacking(what: str, reason: str) -> None:
    """Skip the test, or fail it if `what` is required."""
    if what in _REQUIRED:
        pytest.fail(f"CLASSIFEED_REQUIRE names {what}, but {reason}", pytrace=False)
    pytest.skip(f"{what}: {reason}")


def shared_data() -> Path:
    """Return the folder of the shared feeds."""
    folder = Path(os.environ.get("CLASSIFEED_SHARED_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not folder.is_dir():
        lacking("shared", "the folder of real feeds does not exist; set CLASSIFEED_SHARED_DATA to its path")
    return folder


def go_tool(name: str) -> Path:
    """Return the path of a Go program, which is built if it is missing."""
    from tools.gotools import find_tool

    found = find_tool(name)
    if found is None:
        lacking("go", f"{name} cannot be built without Go")
        raise AssertionError("unreachable")
    return found
