"""The areas of the tree, and their modules."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Module:
    """A module: its path from the root and its text."""

    path: PurePosixPath
    text: str = field(repr=False)

    @classmethod
    def of(cls, path: str, text: str) -> Module:
        """Return the module of a source text."""
        return cls(PurePosixPath(path), text)

    @cached_property
    def tree(self) -> ast.Module:
        """Syntax tree of the module, parsed on first use."""
        return ast.parse(self.text, str(self.path))

    @property
    def area(self) -> str:
        """Area of the tree that has the module, such as `services/loader` or `cli`."""
        parts = self.path.parts
        return "/".join(parts[:2]) if parts[0] in {"libs", "services"} else parts[0]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the syntax tree in the order of `ast.walk`, collected once."""
        found: list[ast.AST] = [self.tree]
        for node in found:  # the list grows during the loop
            for name in node._fields:
                value = getattr(node, name, None)
                if isinstance(value, ast.AST):
                    found.append(value)
                elif isinstance(value, list):
                    found += [each for each in value if isinstance(each, ast.AST)]
        return found

    @cached_property
    def inner(self) -> tuple[str, ...]:
        """Folders and name of the module below its package, such as `("rpc", "feed_service")`; () in tests."""
        parts = self.path.with_suffix("").parts
        return parts[parts.index("src") + 2 :] if "src" in parts else ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of a rule, with its place and its fix."""

    rule: str
    module: Module
    line: int
    fix: str

    def __str__(self) -> str:
        return f"{self.module.path}:{self.line}: {self.rule}: {self.fix}"


def modules(root: Path = ROOT) -> Iterator[Module]:
    """Yield every module in git, without generated ones."""
    for path, text in _files(root, "*.py"):
        if not path.startswith("libs/contracts/"):
            yield Module.of(path, text)


def statements(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Yield path and text of every `.sql` and `.parts` file."""
    return _files(root, "*.sql", "*.parts")


def _files(root: Path, *patterns: str) -> Iterator[tuple[str, str]]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for path in sorted(set(listed.stdout.split())):
        if (root / path).is_file():
            yield path, (root / path).read_text("utf-8")
