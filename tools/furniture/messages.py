"""Coined or archaic phrases that messages must not have, with plain replacements."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

from tools.furniture.areas import Finding, Module

# Replacements by banned phrase. Only phrases that no plain sentence needs.
COINED: Final[Mapping[str, str]] = {
    r"(?:do|does|did) not answer|answered|answers": "respond, response",
    r"asked|asks for": "requested, requires",
    r"told|tells": "reported, informed",
    r"goes on|go on": "continues",
    r"(?:have|has|had) not ended": "not complete",
    r"a fault of ours": "an internal fault",
    r"stands? (?:in|on|twice|so|still)": "is in, is on, is used twice",
    r"its turn|their turn": "is queued",
    r"(?:took|takes?) (?:its|the) place": "replaces",
    r"bec[oa]mes? of": "outcome, happens to",
    r"looks? again": "check again",
    r"nobody|somebody|whoever|whomever": "no one by name: the operator, another reviewer",
    r"anew|by now": "again, so far",
    r"mend|mends|mended": "correct, repair",
    r"fate|patience|remedy|cure|tickets?|doors?|waited out": "outcome, maximum wait, fix, service token, API",
}
_PHRASE: Final = re.compile(
    r"(?<![\w-])(?:" + "|".join(f"(?P<p{at}>{phrase})" for at, phrase in enumerate(COINED)) + r")(?![\w-])",
    re.IGNORECASE,
)
# Files whose strings are data, not messages: texts of users and patterns of rules.
_DATA: Final = ("cli/src/classifeed_cli/examples.py",)


def check_messages(module: Module) -> Iterator[Finding]:
    """Yield strings of services, libraries and the command line that have a banned phrase.

    Docstrings of commands are checked, since they are help texts. Strings without a blank are names.
    """
    if not module.inner or str(module.path) in _DATA:
        return
    for line, text in _texts(module):
        for found in _PHRASE.finditer(text) if " " in text.strip() else ():
            fix = list(COINED.values())[int((found.lastgroup or "p0")[1:])]
            yield Finding("message", module, line, f"instead of “{found[0]}”: {fix}")


def _texts(module: Module) -> Iterator[tuple[int, str]]:
    silent = set(_without_reader(module))
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in silent:
            yield node.lineno, node.value


def _without_reader(module: Module) -> Iterator[ast.expr]:
    """Yield docstrings of modules, classes, functions and attributes, without help texts of commands."""
    is_command = module.inner[0] == "commands"
    for parent in module.nodes:
        helps = is_command and isinstance(parent, ast.FunctionDef) and not parent.name.startswith("_")
        for node in getattr(parent, "body", ()) if isinstance(getattr(parent, "body", None), list) else ():
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and not helps:
                yield node.value
