"""The reference of the command line, made from the help of the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import typer.main

from classifeed_cli.main import build_app

_HEAD: Final = """# Command line

`make pages` makes this page from the help of the program, and a test compares both.

Every command has `--help`. Most commands have these options:

| option | |
| --- | --- |
| `--json` | One JSON document on stdout, progress on stderr. An error is `{"error": {"reason", "message", "metadata"}}`; the page [reasons](reasons.md) lists the reasons. |
| `--data` | Folder of the installation on this machine. The default is CLASSIFEED_DATA, or `.classifeed`. |
| `--address` | host:port of another installation's api, or CLASSIFEED_ADDRESS. The token comes from CLASSIFEED_TOKEN, or from the file CLASSIFEED_TOKEN_FILE. CLASSIFEED_OFFERS_ADDRESS and CLASSIFEED_SEARCHER_ADDRESS set the addresses of these services if they differ. |

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | refused, or a load that did not succeed; `status` and `doctor`: something does not work |
| 2 | wrong usage |
| 3 | unavailable; commands that call several services print the responses of the others |
| 4 | timeout |
| 130 | Ctrl-C |
| 141 | the reader of the output closed the pipe, as `head` does |

On a terminal, commands that are hard to undo ask for confirmation. Any reply except `y` or `yes` cancels the command
with exit code 1. `--yes` skips the question. Without a terminal there is no question.
"""  # noqa: E501 - rows of a table
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_COMMON: Final = frozenset({"data", "address", "as_json", "help"})


def render() -> str:
    """Return the page as Markdown."""
    root: Any = typer.main.get_command(build_app())
    parts = [_HEAD]
    parts += [_command(words, command, context) for words, command, context in _commands(root)]
    return "".join(parts)


def _commands(root: Any) -> Iterator[tuple[str, Any, Any]]:
    top = root.make_context("classifeed", [], resilient_parsing=True, terminal_width=1000)
    yield from _below("classifeed", root, top)


def _below(words: str, group: Any, context: Any) -> Iterator[tuple[str, Any, Any]]:
    for name in sorted(group.commands):
        command = group.commands[name]
        inner = type(context)(command, parent=context, info_name=name)
        if hasattr(command, "commands"):
            yield from _below(f"{words} {name}", command, inner)
        else:
            yield f"{words} {name}", command, inner


def _command(words: str, command: Any, context: Any) -> str:
    usage = command.get_usage(context).removeprefix("Usage: ").replace(" [OPTIONS]", "")
    usage = _PLACEHOLDER.sub(lambda found: found[1].upper(), usage)
    rows = [
        parameter.get_help_record(context) for parameter in command.get_params(context) if parameter.name not in _COMMON
    ]
    table = "".join(f"| `{_cell(name)}` | {_cell(text)} |\n" for name, text in rows)
    head = "\n| | |\n| --- | --- |\n" if rows else ""
    examples = "".join(f"    {line}\n" for line in (command.epilog or "").split("\n\n")[1:])
    shown = f"\nFor example:\n\n{examples}" if examples else ""
    return f"\n## {words}\n\n{command.help.strip()}\n\n    {usage}\n{head}{table}{shown}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("  [", " [")
