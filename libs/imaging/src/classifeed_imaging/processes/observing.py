"""Reports pictures and processes to an observer: the pool itself has no metrics.

The decoding processes import this package, too, and have little memory.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from classifeed_imaging.faults import DECODE_TIMEOUT, TOO_MUCH_MEMORY, DecodeFailed
from classifeed_imaging.processes.process import DecodeProcess, ProcessKilled

_CAUSES = {DECODE_TIMEOUT: "deadline", TOO_MUCH_MEMORY: "memory"}


class DecodeObserver(Protocol):
    """Receives the outcomes of pictures and processes."""

    def note_picture(self, outcome: str, took_s: float) -> None:
        """Record a picture: decoded, refused, or interrupted."""

    def note_end(self, cause: str) -> None:
        """Record a process that ended while it decoded: deadline, memory, crash, killed, or canceled."""


class NoObserver:
    """Records nothing."""

    def note_picture(self, outcome: str, took_s: float) -> None:
        """Record nothing."""

    def note_end(self, cause: str) -> None:
        """Record nothing."""


@contextmanager
def observed(process: DecodeProcess, observer: DecodeObserver) -> Iterator[None]:
    """Observe a process while it decodes one picture."""
    began_s = time.monotonic()
    outcome = "decoded"
    try:
        yield
    except BaseException as error:
        outcome = "refused" if isinstance(error, DecodeFailed) else "interrupted"
        if not process.is_usable:
            observer.note_end(_cause_of(error))
        raise
    finally:
        observer.note_picture(outcome, time.monotonic() - began_s)


def _cause_of(error: BaseException) -> str:
    if isinstance(error, DecodeFailed):
        return _CAUSES.get(error.code, "crash")
    if isinstance(error, asyncio.CancelledError):
        return "canceled"
    return "killed" if isinstance(error, ProcessKilled) else "crash"
