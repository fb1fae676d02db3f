"""Asking before a command does what is tedious to undo: on a terminal only, so that scripts go on as they are."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.terminal.output import Output

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_AGREED: Final = frozenset({"y", "yes"})


def is_terminal() -> bool:
    """Say whether somebody reads and types here, so that they can confirm."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def confirm(out: Output, question: str, *, yes: bool) -> None:
    """Return if the user agrees, or no confirmation is needed: `yes` was given, or this is no terminal.

    Raises:
        CommandError: REFUSED, NOT_CONFIRMED: anything but y or yes, the end of the input, or Ctrl-C.
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
