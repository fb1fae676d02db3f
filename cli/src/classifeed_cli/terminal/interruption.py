"""Handling of Ctrl-C while a command waits: one line that says which work continues."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from classifeed_cli.exit_codes import CommandError, ExitCode


class Interruption:
    """Ends an interrupted block with an error that has its words. The block may change them as it makes progress.

    For nested blocks, the words of the outermost block are used.
    """

    def __init__(self, words: str) -> None:
        self.words = words

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        inner = isinstance(error, CommandError) and error.exit_code is ExitCode.INTERRUPTED
        if inner or isinstance(error, KeyboardInterrupt):
            raise CommandError(ExitCode.INTERRUPTED, "INTERRUPTED", f"interrupted: {self.words}") from None
