"""Files that are made from others: written, or compared with what they should be."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def list_stale(files: Iterable[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Return the files that are not what they should be, each with the text that it should have."""
    return [(path, text) for path, text in files if not path.exists() or path.read_text("utf-8") != text]


def write_or_check(files: Iterable[tuple[Path, str]], module: str) -> int:
    """Write the files that are not up to date; with `--check` on the command line name them instead.

    Args:
        files: each path, and the text that it should have.
        module: what writes them, for the message.

    Returns:
        The exit code: 1 when a file that was checked is not up to date.
    """
    stale = list_stale(files)
    if "--check" in sys.argv[1:]:
        for path, _ in stale:
            print(f"{path.relative_to(ROOT)} is not up to date: run python -m {module}", file=sys.stderr)
        return 1 if stale else 0
    for path, text in stale:
        path.write_text(text, "utf-8")
    return 0
