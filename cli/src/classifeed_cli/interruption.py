"""What Ctrl-C means while a command waits: one line that says what goes on without it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from classifeed_cli.exit_codes import CommandError, ExitCode


class Interruption:
    """Ends an interrupted block with its words, which the block changes as the work goes on."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise CommandError(ExitCode.INTERRUPTED, "INTERRUPTED", f"stopped: {self.words}") from None
