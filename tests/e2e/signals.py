"""Processes that are stopped for a while."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Stop processes and their descendants for the block, which may kill them.

    Parents stop first, so that they start no more children. They resume last: until then a dead child keeps its pid.
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
