"""The file of rules of cleanweb, joined from its lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.generate.files import ROOT

FOLDER: Final = ROOT / "services/cleanweb/src/classifeed_cleanweb/rules"
_HEAD: Final = """\
# Made by `make stubs` from `lists/`; change those. They are words as users write them.
name: packaged
lists:
"""


def render(folder: Path = FOLDER) -> str:
    """Return the text of the file of rules: each list, indented below its name."""
    parts = [_HEAD]
    for path in sorted((folder / "lists").glob("*.yaml")):
        lines = path.read_text("utf-8").splitlines()
        parts += [f"  {path.stem}:\n", *(f"    {line}\n" if line else "\n" for line in lines)]
    return "".join(parts)


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield the file with its expected text."""
    yield FOLDER / "rules.yaml", render()
