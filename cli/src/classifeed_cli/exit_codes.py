"""How a command ends: the exit codes and the one kind of error that carries them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """What programs that call the command line branch on; changing one is a CHANGELOG line."""

    DONE = 0
    REFUSED = 1  # understood and not done; also a task that ended other than SUCCEEDED
    USAGE = 2
    UNAVAILABLE = 3
    TIME_OUT = 4
    INTERRUPTED = 130  # 128 + SIGINT, as shells have it
    PIPE_CLOSED = 141  # 128 + SIGPIPE: whoever read the output has had enough


class CommandError(Exception):
    """Ends the command: printed as one line for people, as the error document for programs.

    Args:
        exit_code: how the process ends.
        reason: stable, UPPER_SNAKE_CASE.
        message: what happened, where, what to do.
        metadata: particulars for programs.
        document: further members of the JSON document, beside `error`.
        words: the message in the words of the command line, for people; the message itself unless given.
    """

    def __init__(
        self,
        exit_code: ExitCode,
        reason: str,
        message: str,
        metadata: Mapping[str, str] | None = None,
        document: Mapping[str, Any] | None = None,
        words: str | None = None,
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.reason = reason
        self.message = message
        self.metadata = dict(metadata or {})
        self.document = dict(document or {})
        self.words = message if words is None else words

    def as_document(self) -> dict[str, Any]:
        """Return the error document, with what else the command has to say."""
        error = {"reason": self.reason, "message": self.message, "metadata": self.metadata}
        return {"error": error, **self.document}


def refused(reason: str, message: str, **metadata: str) -> CommandError:
    """Return an error that another try meets again."""
    return CommandError(ExitCode.REFUSED, reason, message, metadata)


def unavailable(reason: str, message: str, **metadata: str) -> CommandError:
    """Return an error of something that does not respond."""
    return CommandError(ExitCode.UNAVAILABLE, reason, message, metadata)


def timed_out(reason: str, message: str, **metadata: str) -> CommandError:
    """Return the error of something that did not happen in time."""
    return CommandError(ExitCode.TIME_OUT, reason, message, metadata)
