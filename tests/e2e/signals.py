"""Processes that stand still for a while."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Stop processes, and all that come from them, in the block. They may be killed in it.

    Parents stop first, so that no more come, and go on last: until then a child that has ended keeps its number.
    """
    with ExitStack() as resumed:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            resumed.callback(_resume, pid)
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                resumed.enter_context(stopped(int(child)))
        yield


def _resume(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
