"""Check for statements with many columns whose rows are read by position."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

COLUMNS: Final = 10
"""Rows with more columns must be read by name."""


def list_positional(root: Path, wide: Mapping[Path, Collection[str]]) -> list[str]:
    """Return `file:line name` for each wide statement whose rows are read by position, in the modules below `root`.

    These are the statements given to `execute`, except on a cursor with a row factory. `fetch_named` and `fetch_as`
    have row factories.

    Args:
        root: sources of a distribution.
        wide: names of statements with more than COLUMNS columns, by `.sql` file.
    """
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(root.rglob("*.py"))}
    known: dict[str, str] = {}  # names of statements by `module.NAME` of their constants
    for path, tree in trees.items():
        known |= {f"{path.stem}.{name}": statement for name, statement in _constants(path, tree, wide)}
    return [
        f"{path.relative_to(root)}:{line} {statement}"
        for path, tree in trees.items()
        for line, statement in _runs(path, tree, known)
    ]


def _constants(path: Path, tree: ast.Module, wide: Mapping[Path, Collection[str]]) -> Iterator[tuple[str, str]]:
    """Yield the names of constants for wide statements; the name of a subscript of loaded queries is its source."""
    files: dict[str, Path | None] = {}
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if not isinstance(target, ast.Name) or value is None:
            continue
        if file := _loaded_file(path, value):
            files[target.id] = file
            for name in wide.get(file, ()):
                yield f"{target.id}[{name!r}]", name
        elif isinstance(value, ast.Subscript):
            file = _loaded_file(path, value.value) or files.get(ast.unparse(value.value))
            if file is not None and (name := ast.literal_eval(value.slice)) in wide.get(file, ()):
                yield target.id, name


def _loaded_file(path: Path, value: ast.expr) -> Path | None:
    """Return the file that `load_queries(...)` in a module reads; None for anything else."""
    if not (isinstance(value, ast.Call) and ast.unparse(value.func) == "load_queries"):
        return None
    return path.parent / (ast.literal_eval(value.args[1]) if value.args[1:] else "queries.sql")


def _runs(path: Path, tree: ast.Module, known: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "execute"):
            continue
        if not node.args or (isinstance(node.func.value, ast.Name) and node.func.value.id == "cursor"):
            continue
        for part in ast.walk(node.args[0]):
            if isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
                written = ast.unparse(part)
                if statement := known.get(written) or known.get(f"{path.stem}.{written}"):
                    yield node.lineno, statement
