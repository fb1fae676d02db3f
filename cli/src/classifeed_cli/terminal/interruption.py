"""What Ctrl-C means while a command waits: one line that says what goes on without it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from classifeed_cli.exit_codes import CommandError, ExitCode


class Interruption:
    """Ends an interrupted block with its words, which the block changes as the work goes on.

    Of blocks within each other the outermost has the last word.
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
