"""Identities of processes, which survive the reuse of process ids, and their states."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_HAS_PROC = Path("/proc/self/stat").exists()
# "T": stopped by a signal; "t": stopped by a debugger.
_STOPPED = frozenset("Tt")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process id with the process's start time: unique, unlike the id alone."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity | None:
        """Return the identity of a running process; None if it does not exist or is a zombie."""
        started = _start_time(pid)
        return None if started is None else cls(pid, started)

    def is_running(self) -> bool:
        """Return whether this process is running; a zombie is not."""
        return _start_time(self.pid) == self.started

    def is_suspended(self) -> bool:
        """Return whether a signal (SIGSTOP) or a debugger has stopped this process."""
        return self.is_running() and bool(stopped_among([self.pid]))

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to this process, never to another with its id. Return False if the process has exited."""
        if not self.is_running():
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def wait_gone(self, timeout_s: float) -> bool:
        """Block until the process has exited, child or not; return False on a timeout."""
        deadline = time.monotonic() + timeout_s
        while self.is_running():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def _start_time(pid: int) -> str | None:
    if not _HAS_PROC:
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return listed.stdout.strip() or None
    fields = _read_stat(pid)
    return None if not fields or fields[0] in "ZX" else fields[19]


def stopped_among(pids: Collection[int]) -> frozenset[int]:
    """Return the processes that a signal or a debugger has stopped. Blocks for about 5 ms if there is no /proc."""
    return frozenset(pid for pid, state in _states(pids).items() if state in _STOPPED)


def _states(pids: Collection[int]) -> dict[int, str]:
    """Return the state of each existing process, as the kernel's letter."""
    if not pids:
        return {}
    if not _HAS_PROC:
        command = ["ps", "-o", "pid=,state=", "-p", ",".join(map(str, pids))]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        rows = [line.split() for line in listed.stdout.splitlines()]
        return {int(row[0]): row[1][0] for row in rows if len(row) == 2}
    return {pid: fields[0] for pid in pids if (fields := _read_stat(pid))}


def _read_stat(pid: int) -> list[str]:
    """Return the fields of a process's stat file from its state on; empty if the process does not exist."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return stat.rpartition(")")[2].split()  # the name in brackets may hold spaces


def children_of(pid: int) -> list[ProcessIdentity]:
    """Return the running direct children of a process; empty where the system does not report them."""
    found = map(ProcessIdentity.of, child_pids_of(pid))
    return [child for child in found if child is not None]


def child_pids_of(pid: int) -> list[int]:
    """Return the direct children of a process, including those that have ended and are not reaped yet.

    The kernel lists a child under the thread that started it.
    """
    listed: list[str] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            listed += thread.read_text().split()
    return [int(child) for child in listed]
