"""Child processes that die with their parent, and process identities that survive the reuse of pids."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_HAS_PROC = Path("/proc/self/stat").exists()
# "T": stopped by a signal; "t": stopped by a debugger.
_STOPPED = frozenset("Tt")
_LAUNCHER = Path(__file__).with_name("child.py")


class ServerError(Exception):
    """An embedded server cannot be started; the message is one line that says what to do."""


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
    """Return the direct children of a process; empty where the system does not report them.

    The kernel lists a child under the thread that started it.
    """
    listed: list[str] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            listed += thread.read_text().split()
    found = (ProcessIdentity.of(int(child)) for child in listed)
    return [child for child in found if child is not None]


def launch_command(*, user: tuple[int, int] | None = None, death_signal: signal.Signals = signal.SIGKILL) -> list[str]:
    """Return a command that turns into the program after `--`, bound to this process (see `spawn_bound`)."""
    command = [sys.executable, "-I", "-S", str(_LAUNCHER)]
    command += ["--parent", str(os.getpid()), "--signal", str(int(death_signal))]
    if user is not None:
        command += ["--uid", str(user[0]), "--gid", str(user[1])]
    return command


def spawn_bound(
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    user: tuple[int, int] | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
) -> subprocess.Popen[bytes]:
    """Start `command` so that it receives `death_signal` when this process dies, even by SIGKILL.

    The kernel binds a child to the *thread* that created it: call this from a thread that lives as long as the process,
    usually the main one. The child leads its own session, so that Ctrl-C reaches only the parent. Standard output and
    error are appended to `log`.

    Args:
        command: program and arguments.
        log: file for the output; created with mode 0600.
        env: complete environment of the child; None: this process's.
        cwd: working folder.
        user: uid and gid to run as; requires root.
        death_signal: signal for the child when this process dies.
    """
    launcher = launch_command(user=user, death_signal=death_signal)
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603 - every command is ours
            [*launcher, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    finally:
        os.close(sink)


def stop_process(process: subprocess.Popen[bytes], number: signal.Signals, timeout_s: float) -> bool:
    """Signal `process`, wait, and kill it after the timeout. Return whether it exited without the kill. Idempotent."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False
    return True


def tail(log: Path, lines: int = 20) -> str:
    """Return the last lines of a log file; empty if there is none. Reads at most the last 16 KiB."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16384))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except FileNotFoundError:
        return ""


def explain_os_error(error: OSError, path: Path) -> str:
    """Return one line about an error of the system: a full disk, missing rights, otherwise the error's name."""
    if error.errno == errno.ENOSPC:
        return f"the disk that holds {path} is full: free some space or choose another folder with --data"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"no right to write {error.filename or path}: choose another folder with --data"
    return f"{error.filename or path}: {error.strerror or error}"
