"""Exit codes, and the error type that carries them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """Exit codes, on which calling programs depend; a change needs a line in the CHANGELOG."""

    DONE = 0
    REFUSED = 1  # the request was refused, or a task did not succeed
    USAGE = 2
    UNAVAILABLE = 3
    TIME_OUT = 4
    INTERRUPTED = 130  # 128 + SIGINT, as in shells
    PIPE_CLOSED = 141  # 128 + SIGPIPE: the reader of the output has closed it


class CommandError(Exception):
    """Ends the command. It is printed as one line for people, or as the error document with --json.

    Args:
        exit_code: Exit code of the process.
        reason: Stable error code, in UPPER_SNAKE_CASE.
        message: Explanation: what happened, where, and what to do.
        metadata: Details for programs.
        document: Further members of the JSON document, in addition to `error`.
        words: Message for people, in the terms of the command line; default: `message`.
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
        """Return the error document, with the further members of the command."""
        error = {"reason": self.reason, "message": self.message, "metadata": self.metadata}
        return {"error": error, **self.document}


def refused(reason: str, message: str, **metadata: str) -> CommandError:
    """Return an error that a retry would not fix."""
    return CommandError(ExitCode.REFUSED, reason, message, metadata)


def unavailable(reason: str, message: str, **metadata: str) -> CommandError:
    """Return an error of an unavailable service or resource."""
    return CommandError(ExitCode.UNAVAILABLE, reason, message, metadata)


def timed_out(reason: str, message: str, **metadata: str) -> CommandError:
    """Return the error of a timeout."""
    return CommandError(ExitCode.TIME_OUT, reason, message, metadata)
