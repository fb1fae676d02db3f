"""Statements that share parts: every `.parts` file makes the `.sql` file beside it, each block of it a whole statement.

    python -m tools.assemble_sql            # write
    python -m tools.assemble_sql --check    # say what is not up to date

A `.parts` file begins with the statements that it makes, `-- statement: NAME = PART(placeholder=part, ...)`, and goes
on with its parts, `-- part: NAME`. A placeholder `{x}` stands for the part that the statement names for it, or else for
the part x; an empty one for nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tools.generated import ROOT, write_or_check

_STATEMENT: Final = re.compile(r"^-- statement: (\w+) = (\w+)\(([^)]*)\)$", re.MULTILINE)
_PART: Final = re.compile(r"^-- part: (\w+)$", re.MULTILINE)
_HEAD_COMMENT: Final = re.compile(r"\A(?:\s*--[^\n]*\n)+")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


def assemble(source: str, text: str) -> str:
    """Return the `.sql` file that the parts in `text` make.

    Args:
        source: name of the `.parts` file, for the head and for errors.
        text: its content.

    Raises:
        ValueError: a placeholder has no part, or a part is used by no statement.
    """
    pieces = _PART.split(text)
    parts = dict(zip(pieces[1::2], (piece.strip("\n") for piece in pieces[2::2]), strict=True))
    used: set[str] = set()
    made = [f"-- Made from {source} by `python -m tools.assemble_sql`; do not edit."]
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

    # Comments may name a placeholder, and are no SQL; those at the head of a part are for readers of the parts.
    lines = parts[part].split("\n")
    return "\n".join(line if line.lstrip().startswith("--") else _PLACEHOLDER.sub(replace, line) for line in lines)


def list_files() -> Iterator[tuple[Path, str]]:
    """Yield each `.sql` file that is made, and what it should be."""
    for path in sorted(ROOT.glob("*/*/src/**/*.parts")):
        yield path.with_suffix(".sql"), assemble(path.name, path.read_text("utf-8"))


def main() -> int:
    """Write or check; returns the exit code."""
    return write_or_check(list_files(), "tools.assemble_sql")


if __name__ == "__main__":
    sys.exit(main())
