"""Child processes of services: tests stop or kill them, and read what `status` reports about them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from classifeed_common.processes import children_of
from tests.e2e.suite import Suite
from tests.e2e.waiting import wait_until

WRITER: Final = "classifeed_searcher.engine.writing.worker"
DECODER: Final = "classifeed_imaging.processes.worker"
NAMED_WITHIN_S: Final = 15.0
"""Seconds within which `status` reports a stopped child: a promise of the product."""


def child_of(suite: Suite, service: str, module: str) -> int | None:
    """Return the pid of a service's child process that runs a module; None if there is none now."""
    pids = suite.status()["services"][service]["pids"].values()
    for child in (child for pid in pids for child in children_of(pid)):
        with suppress(OSError):
            if module.encode() in Path(f"/proc/{child.pid}/cmdline").read_bytes().split(b"\0"):
                return child.pid
    return None


def wait_for_child(suite: Suite, service: str, module: str) -> int:
    """Return the pid of the child process that runs a module, once it exists."""
    return wait_until(lambda: child_of(suite, service, module), 120, f"{service} has a child process for {module}")


def problems_of(suite: Suite, service: str) -> list[str]:
    """Return what `status` reports about a service."""
    return list(suite.status()["services"][service]["problems"])


@contextmanager
def stopped_children(suite: Suite, service: str, pids: Sequence[int]) -> Iterator[float]:
    """Stop child processes for the block; yield the seconds until `status` reports each with its pid.

    A process that was killed meanwhile is not resumed.
    """
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    began_s = time.monotonic()

    def are_named() -> bool:
        problems = " ".join(problems_of(suite, service))
        return all(f"(process {pid}): the process was stopped by a signal" in problems for pid in pids)

    try:
        wait_until(are_named, NAMED_WITHIN_S, f"status reports the stopped processes {pids}")
        yield time.monotonic() - began_s
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def wait_until_unnamed(suite: Suite, service: str, pids: Sequence[int]) -> None:
    """Wait until `status` reports none of the processes."""

    def is_over() -> bool:
        problems = " ".join(problems_of(suite, service))
        return not any(f"(process {pid})" in problems for pid in pids)

    wait_until(is_over, 60, f"status reports none of {pids}")
