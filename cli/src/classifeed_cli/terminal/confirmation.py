"""Confirmation of commands that are tedious to undo; only on a terminal, so that scripts need no change."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.terminal.output import Output

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_AGREED: Final = frozenset({"y", "yes"})


def is_terminal() -> bool:
    """Return whether a user can read the question and type a reply."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def confirm(out: Output, question: str, *, yes: bool) -> None:
    """Ask for confirmation, unless `yes` is given or there is no terminal. Return if the user agrees.

    Raises:
        CommandError: REFUSED, NOT_CONFIRMED: the reply is not y or yes, the input ended, or Ctrl-C was pressed.
    """
    if yes or not is_terminal():
        return
    out.ask(f"{question} [y/N] ")
    try:
        reply = sys.stdin.readline()
    except KeyboardInterrupt:
        reply = ""
    if not reply.endswith("\n"):
        out.ask("\n")
    if reply.strip().lower() not in _AGREED:
        raise CommandError(
            ExitCode.REFUSED, "NOT_CONFIRMED", "not confirmed, so nothing was done; --yes skips the confirmation"
        )
