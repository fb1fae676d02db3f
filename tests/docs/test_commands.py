"""Every command, option, make target and link in the documents exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from classifeed_cli.main import build_app
from tests.docs.pages import ROOT

PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "services/*/*.md", "libs/*/*.md") for path in ROOT.glob(pattern)
)
_FENCED = re.compile(r"^[ \t]*```[a-z]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`(classifeed [^`\n]+)`(?!`)")
_VARIABLE = re.compile(r"[A-Z_]+=\S*")
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")
_NAME = re.compile(r"[a-z][a-z-]*")
ENDS = frozenset({"|", "&&", ";", ">", ">>", "<", "||"})


def fenced_lines(page: Path) -> Iterator[str]:
    """Yield the lines of fenced blocks; lines that end in a backslash are joined with the next."""
    for block in _FENCED.findall(page.read_text("utf-8")):
        yield from (line.strip() for line in block.replace("\\\n", " ").splitlines())


def words_of(line: str) -> list[str]:
    """Split a shell line into words up to the first pipe, without variables before the program."""
    words = shlex.split(line, comments=True)
    while words and _VARIABLE.fullmatch(words[0]):
        del words[0]
    end = next((at for at, word in enumerate(words) if word in ENDS), len(words))
    return words[:end]


def commands(page: Path) -> list[list[str]]:
    """Return the arguments of each `classifeed` command in the blocks of a page."""
    return [words_of(line)[1:] for line in fenced_lines(page) if re.match(r"([A-Z_]+=\S* )*classifeed ", line)]


class Program:
    """The command line, parsed without running commands."""

    def __init__(self) -> None:
        self._root: Any = typer.main.get_command(build_app())
        self._top = self._root.make_context("classifeed", [], resilient_parsing=True)

    def find(self, arguments: list[str]) -> tuple[Any, list[str]]:
        """Return the command that the first arguments name, and the remaining arguments."""
        command, rest = self._root, list(arguments)
        while hasattr(command, "commands") and rest and _NAME.fullmatch(rest[0]):
            assert rest[0] in command.commands, f"there is no `{' '.join(arguments)}`"
            command = command.commands[rest.pop(0)]
        return command, rest

    def parse(self, arguments: list[str]) -> None:
        """Parse the arguments as the program does, and raise its errors."""
        command, rest = self.find(arguments)
        assert not hasattr(command, "commands"), f"`{' '.join(arguments)}` is a group"
        command.make_context(arguments[0], rest)

    def options(self, arguments: list[str]) -> set[str]:
        """Return the options of the command that the first arguments name."""
        command, _ = self.find(arguments)
        return {name for each in command.get_params(self._top) for name in (*each.opts, *each.secondary_opts)}


@pytest.fixture(scope="module")
def program() -> Program:
    return Program()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page)], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_commands_in_blocks_can_be_typed(
    program: Program, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in commands(page):
        for word in arguments:
            if word.endswith((".yml", ".xml", ".png", ".jpg")) and "://" not in word:
                Path(word).touch()
        program.parse(arguments)


def test_readme_and_guides_show_commands() -> None:
    shown = {page.name for page in PAGES if commands(page)}
    assert {"README.md", "feeds-by-link.md", "find-out-why-an-offer-is-missing.md"} <= shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_in_sentences_exist(program: Program, page: Path) -> None:
    for span in _INLINE.findall(page.read_text("utf-8")):
        words = span.split()[1:]
        named = {word.split("=")[0] for word in words if word.startswith("--")}
        assert named <= program.options(words), span


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_targets_of_make_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = {word for line in fenced_lines(page) if line.startswith("make ") for word in words_of(line)[1:]}
    assert {word for word in shown if not word.startswith("bench-")} <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target, anchor in _LINK.findall(page.read_text("utf-8")):
        found = (page.parent / target).resolve()
        if not found.exists() or (anchor and anchor[1:] not in anchors(found)):
            broken.append(f"{target}{anchor}")
    assert broken == []


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
