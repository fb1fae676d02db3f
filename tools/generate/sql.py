"""SQL statements that share parts: every `.parts` file makes a `.sql` file in the same folder.

A `.parts` file begins with statements, `-- statement: NAME = PART(placeholder=part, ...)`. Its parts follow, each after
a line `-- part: NAME`. A placeholder `{x}` is replaced by the part that the statement assigns to it, or by the part x.
An empty assignment removes the placeholder. Each block of the `.sql` file is a whole statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tools.generate.files import ROOT

_STATEMENT: Final = re.compile(r"^-- statement: (\w+) = (\w+)\(([^)]*)\)$", re.MULTILINE)
_PART: Final = re.compile(r"^-- part: (\w+)$", re.MULTILINE)
_HEAD_COMMENT: Final = re.compile(r"\A(?:\s*--[^\n]*\n)+")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


def assemble(source: str, text: str) -> str:
    """Return the text of the `.sql` file that the parts in `text` make.

    Args:
        source: name of the `.parts` file, for the head and for errors.
        text: content of the `.parts` file.

    Raises:
        ValueError: a placeholder has no part, or no statement uses a part.
    """
    pieces = _PART.split(text)
    parts = dict(zip(pieces[1::2], (piece.strip("\n") for piece in pieces[2::2]), strict=True))
    used: set[str] = set()
    made = [f"-- Made from {source} by `make stubs`; do not edit."]
    for name, base, chosen in _STATEMENT.findall(pieces[0]):
        own = dict(pair.strip().split("=") for pair in chosen.split(",") if pair.strip())
        made.append(f"-- name: {name}\n{_fill(source, base, parts, own, used)}")
    if unused := parts.keys() - used:
        raise ValueError(f"{source}: no statement uses {', '.join(sorted(unused))}")
    return "\n\n".join(made) + "\n"


def _fill(source: str, part: str, parts: Mapping[str, str], own: Mapping[str, str], used: set[str]) -> str:
    if part not in parts:
        raise ValueError(f"{source} has no part {part!r}")
    used.add(part)

    def replace(found: re.Match[str]) -> str:
        name = own.get(found[1], found[1])
        return _HEAD_COMMENT.sub("", _fill(source, name, parts, own, used)) if name else ""

    # Comments may contain placeholders and are removed from the SQL. Comments at the head of a part describe the part.
    lines = parts[part].split("\n")
    return "\n".join(line if line.lstrip().startswith("--") else _PLACEHOLDER.sub(replace, line) for line in lines)


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield each generated `.sql` file with its expected text."""
    for path in sorted(ROOT.glob("*/*/src/**/*.parts")):
        yield path.with_suffix(".sql"), assemble(path.name, path.read_text("utf-8"))
