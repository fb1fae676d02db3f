"""The help of each command has a valid example."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from classifeed_cli.examples import EXAMPLES
from classifeed_cli.main import build_app


def commands(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        words = f"{above} {name}".strip()
        if hasattr(command, "commands"):
            yield from commands(command, words)
        else:
            yield words, command


PROGRAM: Any = typer.main.get_command(build_app())
COMMANDS = dict(commands(PROGRAM))


def test_each_command_has_an_example() -> None:
    assert not [name for name in COMMANDS if not EXAMPLES.get(name)]


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_in_the_help_and_can_be_typed(name: str) -> None:
    command = COMMANDS[name]
    for example in EXAMPLES.get(name, ()):
        assert example in command.epilog.split("\n\n")
        assert len(example) <= 78, "in one line of a terminal, to be copied"
        words = shlex.split(example)
        assert words[: 1 + len(name.split())] == ["classifeed", *name.split()]
        context = command.make_context(name, words[1 + len(name.split()) :], resilient_parsing=True)
        assert not context.args


def test_help_prints_it(terminal: Any) -> None:
    assert EXAMPLES["feed upload"][0] in " ".join(terminal("feed", "upload", "--help").out.split())
