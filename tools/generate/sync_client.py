"""The synchronous client, generated from the asynchronous one by `make stubs`.

The source of both is classifeed_client/aio. The synchronous modules are the same without `async` and `await`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.generate.files import ROOT

FOLDER: Final = ROOT / "libs/client/src/classifeed_client"
# Modules written by hand on both sides: they open and call channels.
_BY_HAND: Final = frozenset({"__init__.py", "connection.py"})
_REPLACED: Final = (
    (re.compile(r"\basync (def|for|with)\b"), r"\1"),
    (re.compile(r"\bawait asyncio\.sleep\("), "time.sleep("),
    (re.compile(r"\bawait "), ""),
    (re.compile(r"^import asyncio\n", re.M), ""),
    (re.compile(r"\bAsyncIterator\b"), "Iterator"),
    (re.compile(r"\bclassifeed_client\.aio\b"), "classifeed_client"),
)


def write_sync(source: str, name: str) -> str:
    """Return the formatted synchronous module of an asynchronous one."""
    for pattern, replacement in _REPLACED:
        source = pattern.sub(replacement, source)
    docstring, rest = source.split("\n", 1)
    text = f"{docstring}\n\n# Written from aio/{name} by `make stubs`: change it there.\n{rest}"
    for command in (["check", "--select", "I", "--fix-only"], ["format"]):
        ruff = [
            str(Path(sys.executable).with_name("ruff")),
            *command,
            "--quiet",
            "--stdin-filename",
            str(FOLDER / name),
            "-",
        ]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield each synchronous module with its expected text."""
    for path in sorted((FOLDER / "aio").glob("*.py")):
        if path.name not in _BY_HAND:
            yield FOLDER / path.name, write_sync(path.read_text("utf-8"), path.name)
