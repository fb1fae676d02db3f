"""The sentences of explanations are in one table, and each of them is used."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from classifeed_api import explain
from classifeed_api.explain import sentences

FOLDER = Path(explain.__file__).parent
SENTENCE = re.compile(r"\w[.;:,]? \w.*[a-z][.;](\W|$)")


def texts_of(tree: ast.Module) -> list[str]:
    """Return the texts of a module, including those inside the braces of f-strings, without docstrings."""
    expressions = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in expressions]
    return [node.value for node in constants if isinstance(node.value, str)]


MODULES = {
    path.stem: ast.parse(path.read_text("utf-8")) for path in FOLDER.glob("*.py") if path.stem not in {"sentences"}
}
NAMES = {name for name in vars(sentences) if name.isupper()}


def test_no_sentence_stands_beside_the_table() -> None:
    assert [text for tree in MODULES.values() for text in texts_of(tree) if SENTENCE.search(text)] == []


def test_what_a_sentence_is() -> None:
    others = (
        "The list of offers has not applied it",
        "",
        "Final",
        "change too much",
    )  # parts of sentences, without a full stop
    found = {name for name in NAMES if SENTENCE.search(getattr(sentences, name))}
    assert {"NOT_REACHED", "IN_OFFERS", "BANNED", "NOT_ALL", "TAKES_LONG"} <= found
    assert not any(SENTENCE.search(other) for other in others)


def test_every_sentence_is_used_once_at_least() -> None:
    used = {
        node.attr
        for tree in MODULES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sentences"
    }
    assert used == NAMES
