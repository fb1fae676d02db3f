"""The reference of the command line: run as a module, it writes docs/reference/cli.md to its standard output."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, Final

import typer.main

from classifeed_cli.main import build_app

_HEAD: Final = """# Command line

Generated from the help of the program by `python -m tools.cli_page`; a test compares the two.

Every command has `--help`, and most have these:

| option | |
| --- | --- |
| `--json` | One JSON document on stdout, progress on stderr. An error is `{"error": {"reason", "message", "metadata"}}`; the [reasons](reasons.md) have a page. |
| `--data` | Folder of the installation on this machine; `.classifeed` by default, or CLASSIFEED_DATA. |
| `--address` | host:port of another installation's api, also by CLASSIFEED_ADDRESS. Its token comes from CLASSIFEED_TOKEN, or from the file CLASSIFEED_TOKEN_FILE; other services than the api, where they listen elsewhere, from CLASSIFEED_OFFERS_ADDRESS and CLASSIFEED_SEARCHER_ADDRESS. |

Exit codes: 0 done, 1 refused or a load that did not succeed, 2 usage, 3 unavailable, 4 time out, 130 Ctrl-C, 141 where
the reader of the output closed the pipe (`| head`). `status` and `doctor` exit with 1 when something does not work. Commands that
call several services exit with 3 when one of them does not respond, and print what the others return. Commands that are hard to undo
ask for confirmation on a terminal, and only there; `--yes` skips it, and any reply but `y` or `yes` does nothing and exits with 1.
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


if __name__ == "__main__":
    sys.stdout.write(render())
