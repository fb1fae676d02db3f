"""Child processes that die with their parent, and the errors of embedded servers."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_LAUNCHER = Path(__file__).with_name("child.py")


class ServerError(Exception):
    """An embedded server cannot be started; the message is one line that says what to do."""


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
