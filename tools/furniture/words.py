"""Coined words that identifiers, comments and docstrings must not have, with the field's terms (glossary.md)."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tools.furniture.areas import Finding, Module

# Replacements by banned words.
_INSTEAD: Final[Mapping[str, str]] = {
    "asked answer answers answered hosted": "request, response, services",
    "door doors face faces house": "package, layer, entry point, API",
    "ending endings": "completion, outcome",
    "freed": "promoted, requeued, released",
    "parked parker parkers": "blocked, blocked_by",
    "lane lanes turn turns": "partition, round-robin cursor, rank",
    "floor floors looked walk walks": "scan cursor, poll, full scan, scan",
    "pace breath patience": "duty cycle, yield interval, maximum wait",
    "hungry odd tell tells told said": "has_backlog, needs_full_claim, describe_x, reported, message",
    "waker wakeup wakeups": "notifier, listener",
    "fate fates station stations": "outcome, stage",
    "seal sealed sealer sealing": "encrypted credentials; finalized batch",
    "bury buried ringing": "send to dead letters, notifying",
    "ticket tickets": "service token",
    "remedy cure": "fix",
    "twentieth": "5 %",
}
BANNED: Final[Mapping[str, str]] = {word: term for words, term in _INSTEAD.items() for word in words.split()}
# Plain English in a sentence or part of a quoted message, but banned in names.
PLAIN: Final = frozenset(
    {
        "answer",
        "door",
        "doors",
        "ending",
        "house",
        "looked",
        "odd",
        "said",
        "tell",
        "tells",
        "told",
        "turn",
        "turns",
        "walk",
        "walks",
    }
)
# Stored or sent names, and names of libraries.
KEPT: Final = frozenset({"sealed_credentials", "parked", "answer_s"})
_IN_PROSE: Final = re.compile(rf"(?<![\w.-])(?:{'|'.join(sorted(BANNED.keys() - PLAIN))})(?![\w-])", re.IGNORECASE)
_QUOTED: Final = re.compile(r"`[^`]*`|'[^']*'")
# Names of arguments and fields in docstrings, which are checked at their declaration.
_DESCRIBED: Final = re.compile(r"^\s*\w+:(?=\s|$)")
_IN_BACKTICKS: Final = re.compile(r"`[^`]*`")
_SPLIT: Final = re.compile(r"_|\.|(?<=[a-z0-9])(?=[A-Z])")


def check_words(module: Module) -> Iterator[Finding]:
    """Yield names of modules, functions, classes, arguments and attributes that have a banned word.

    Names of tests are sentences and may have any word. Local variables are not checked.
    """
    named = [(1, part) for part in module.path.with_suffix("").parts]
    for line, name in [*named, *_names(module.nodes)]:
        for word in _SPLIT.split(name):
            if word.lower() in BANNED and name not in KEPT:
                yield Finding("word", module, line, f"{name}: instead of {word.lower()}: {BANNED[word.lower()]}")


def check_comments(path: str, text: str) -> Iterator[Finding]:
    """Yield comments of an SQL file that have a banned word, except names in backticks and values in quotes."""
    if text.startswith("-- Made from "):
        return
    for line, written in enumerate(text.splitlines(), start=1):
        for word in _IN_PROSE.findall(_QUOTED.sub("", written.partition("--")[2])):
            fix = f"instead of {word}: {BANNED[word.lower()]}"
            yield Finding("comment", Module.of(path, ""), line, fix)


def check_prose(module: Module) -> Iterator[Finding]:
    """Yield comments and docstrings of a module that have a banned word, except names in backticks."""
    if not _IN_PROSE.search(module.text):
        return  # the common case: finding comments is slow
    for line, written in [*_comments(module.text), *_docstrings(module)]:
        for word in _IN_PROSE.findall(_IN_BACKTICKS.sub("", written)):
            yield Finding("prose", module, line, f"instead of {word}: {BANNED[word.lower()]}")


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _docstrings(module: Module) -> Iterator[tuple[int, str]]:
    """Yield the lines of docstrings of modules, classes, functions and attributes."""
    lines = module.text.split("\n")
    for node in module.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                yield line, _DESCRIBED.sub("", lines[line - 1])


def _names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("test_"):
            yield node.lineno, node.name
        elif isinstance(node, ast.ClassDef):
            yield node.lineno, node.name
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    yield field.lineno, field.target.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            yield node.lineno, node.attr


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
