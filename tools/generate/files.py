"""Generated files: write them, or compare them with their expected text."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tools.arguments import parse

ROOT: Final = Path(__file__).resolve().parents[2]


def list_stale(files: Iterable[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Return the files that are not up to date, each with its expected text."""
    return [(path, text) for path, text in files if not path.exists() or path.read_text("utf-8") != text]


def write_or_check(files: Iterable[tuple[Path, str]], command: str) -> int:
    """Write the files that are not up to date; with `--check` on the command line, list them instead.

    Args:
        files: paths with their expected texts.
        command: the command that writes them, for the message.

    Returns:
        The exit code: 1 if a checked file is not up to date.
    """
    stale = list_stale(files)
    if parse(sys.modules["__main__"].__doc__, check="write nothing; fail if a file is not up to date").check:
        for path, _ in stale:
            print(f"{path.relative_to(ROOT)} is not up to date: run `{command}`", file=sys.stderr)
        return 1 if stale else 0
    for path, text in stale:
        path.write_text(text, "utf-8")
    return 0
