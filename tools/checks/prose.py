"""Count words and sentences that docs and comments should not have; `--list` prints each place.

    python -m tools.checks.prose [--list] [PATH ...]

It reads Markdown outside of code and tables, docstrings, comments and messages of Python, and comments of protos, SQL
and YAML. It only counts: a person rewrites.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeGuard

from tools.arguments import parser_of
from tools.generate.files import ROOT

LONGEST: Final = 35
"""Largest number of words in a sentence that does not count as too long."""
WORDS: Final = re.compile(
    r"\b(anew|beside|whoever|whatever|somebody|or else|lest|thereby|by itself|by themselves|of its own|of their own"
    r"|dear|wants?|stands|goes on|go on|makes up for|make up for|let in|once more)\b",
    re.IGNORECASE,
)
_GENERATED: Final = (
    "libs/contracts/src/",
    "proto/buf/",
    "proto/google/",
    "docs/reference/metrics.md",
)
_CODE: Final = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*[-*|#>]\s|\n\s*\d+\.\s")
_HASH_COMMENTS: Final = (".yaml", ".yml", ".toml", ".tpl")
_MESSAGE_WORDS: Final = 4
_SQL: Final = re.compile(r"\b(SELECT|UPDATE|DELETE|INSERT|CREATE|ALTER)\b")


class Passage(NamedTuple):
    """A text that people read.

    Attributes:
        kind: sources, messages, docs or adr.
        path: path of its file from the root of the repository.
        line: number of its first line.
        text: the text, without comment marks.
    """

    kind: str
    path: str
    line: int
    text: str


class Finding(NamedTuple):
    """A word, or a sentence that is too long.

    Attributes:
        kind: kind of its passage.
        what: `word` or `sentence`.
        path: path of its file from the root of the repository.
        line: line of the word, or first line of the passage of the sentence.
        text: the word, or the first words of the sentence.
    """

    kind: str
    what: str
    path: str
    line: int
    text: str


def passages(path: str, text: str) -> Iterator[Passage]:
    """Yield the texts of a file that people read."""
    if path.endswith(".md"):
        yield from _of_markdown(path, text)
    elif path.endswith(".py"):
        yield from _of_python(path, text)
    elif path.endswith((".proto", ".sql", ".parts")):
        yield from _of_comments(path, text, re.compile(r"^\s*(?://|--)\s?(?!\s*name:)(.*)$|\s(?://|--)\s(.*)$"))
    elif path.endswith(_HASH_COMMENTS):
        yield from _of_comments(path, text, re.compile(r"^\s*#\s?(.*)$|\s#\s(.*)$"))


def _of_markdown(path: str, text: str) -> Iterator[Passage]:
    kind = "adr" if path.startswith("docs/adr/") else "docs"
    plain = _CODE.sub(lambda code: "x" + "\n" * code[0].count("\n"), text)
    block: list[str] = []
    begin = 1
    for number, line in enumerate([*plain.split("\n"), ""], 1):
        if line.strip() and not line.lstrip().startswith("|"):
            if not block:
                begin = number
            block.append(line)
            continue
        if block:
            yield Passage(kind, path, begin, "\n".join(block))
            block = []
        if line.strip():
            # Cells of tables are separate sentences.
            yield Passage(kind, path, number, line.replace("|", "\n\n"))


def _of_python(path: str, text: str) -> Iterator[Passage]:
    tree = ast.parse(text)
    docs: set[ast.AST] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and _is_text(statement.value):
                docs.add(statement.value)
                yield Passage("sources", path, statement.lineno, statement.value.value)
    for node in ast.walk(tree) if "/src/" in path else ():
        if _is_text(node) and node not in docs and _is_message(node.value):
            yield Passage("messages", path, node.lineno, node.value)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [(each.start[0], each.string.lstrip("# ")) for each in tokens if each.type == tokenize.COMMENT]
    yield from _joined("sources", path, comments)


def _is_text(node: Any) -> TypeGuard[Any]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_message(text: str) -> bool:
    return len(text.split()) >= _MESSAGE_WORDS and not _SQL.search(text)


def _of_comments(path: str, text: str, pattern: re.Pattern[str]) -> Iterator[Passage]:
    lines = [
        (number, next(group for group in found.groups() if group is not None))
        for number, line in enumerate(text.split("\n"), 1)
        if (found := pattern.search(line))
    ]
    yield from _joined("sources", path, lines)


def _joined(kind: str, path: str, lines: list[tuple[int, str]]) -> Iterator[Passage]:
    """Yield comments on consecutive lines as one passage."""
    block: list[str] = []
    begin = last = -1
    for number, line in [*lines, (-9, "")]:
        if block and number != last + 1:
            yield Passage(kind, path, begin, "\n".join(block))
            block = []
        if not block:
            begin = number
        block.append(line)
        last = number


def findings(passage: Passage) -> Iterator[Finding]:
    """Yield the words and the long sentences of a passage."""
    for word in WORDS.finditer(passage.text):
        line = passage.line + passage.text.count("\n", 0, word.start())
        yield Finding(passage.kind, "word", passage.path, line, word[0])
    for sentence in _SENTENCE_END.split(_CODE.sub("x", passage.text)):
        if sentence and len(words := re.findall(r"[A-Za-z][\w'-]*", sentence)) > LONGEST:
            yield Finding(passage.kind, "sentence", passage.path, passage.line, " ".join(words[:12]) + " …")


def tracked(paths: list[str]) -> list[str]:
    """Return the files of the repository below paths, without generated ones."""
    found = subprocess.run(["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in found.stdout.split("\n") if path and not path.startswith(_GENERATED)]


def main() -> int:
    """Run the command line; return the exit code."""
    parser = parser_of(__doc__, list="print each place")
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders; the whole repository if none is named"
    )
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    for path in tracked(options.paths):
        file = ROOT / path
        if path == "tools/checks/prose.py" or not file.is_file():
            continue
        for passage in passages(path, file.read_text("utf-8", errors="replace")):
            for each in findings(passage):
                counts[each.kind, each.what] += 1
                if options.list:
                    print(f"{each.path}:{each.line}: {each.what}: {each.text}")
    print(f"{'':10}{'words':>8}{f'over {LONGEST}':>10}")
    for kind in ("sources", "messages", "docs", "adr"):
        print(f"{kind:10}{counts[kind, 'word']:8}{counts[kind, 'sentence']:10}")
    print(
        f"{'all':10}{sum(n for (_, what), n in counts.items() if what == 'word'):8}"
        f"{sum(n for (_, what), n in counts.items() if what == 'sentence'):10}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
