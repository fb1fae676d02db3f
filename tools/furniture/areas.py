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
    """A module of the tree: its path from the root, its syntax and its text."""

    path: PurePosixPath
    tree: ast.Module = field(repr=False)
    text: str = field(repr=False)

    @classmethod
    def parse(cls, path: str, text: str) -> Module:
        """Return the module of a source text."""
        return cls(PurePosixPath(path), ast.parse(text, path), text)

    @property
    def area(self) -> str:
        """The part of the tree it belongs to, such as `services/loader` or `cli`."""
        parts = self.path.parts
        return "/".join(parts[:2]) if parts[0] in {"libs", "services"} else parts[0]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the syntax, those that are nearer to the top first: as `ast.walk` yields them, found once."""
        found: list[ast.AST] = [self.tree]
        for node in found:  # which grows meanwhile
            for name in node._fields:
                value = getattr(node, name, None)
                if isinstance(value, ast.AST):
                    found.append(value)
                elif isinstance(value, list):
                    found += [each for each in value if isinstance(each, ast.AST)]
        return found

    @cached_property
    def inner(self) -> tuple[str, ...]:
        """The folders and the name below its package, without the suffix: `("rpc", "feed_service")`; () in tests."""
        parts = self.path.with_suffix("").parts
        return parts[parts.index("src") + 2 :] if "src" in parts else ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A place that breaks a rule, and what to write instead."""

    rule: str
    module: Module
    line: int
    fix: str

    def __str__(self) -> str:
        return f"{self.module.path}:{self.line}: {self.rule}: {self.fix}"


def modules(root: Path = ROOT) -> Iterator[Module]:
    """Yield every module that git knows, without generated ones."""
    for path, text in _files(root, "*.py"):
        if not path.startswith("libs/contracts/"):
            yield Module.parse(path, text)


def statements(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Yield path and text of every file of SQL, and of parts that some are made of."""
    return _files(root, "*.sql", "*.parts")


def _files(root: Path, *patterns: str) -> Iterator[tuple[str, str]]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for path in sorted(set(listed.stdout.split())):
        if (root / path).is_file():
            yield path, (root / path).read_text("utf-8")
