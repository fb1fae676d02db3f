"""Child processes of the service that write or search an index, each connected by a socket."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from typing import Final

_END_S: Final = 10.0


def start_module(name: str, *arguments: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Run a module as a process; return it and our end of the socket. Its last argument is the other end.

    Raises:
        OSError: the system cannot start a process.
    """
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", name, *arguments, str(theirs.fileno())]
    try:
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)  # noqa: S603
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def await_end(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a process whose socket is closed; kill it if it does not end in time. Blocks."""
    try:
        return process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def ignore_stop_signals() -> None:
    """Ignore stop signals in a child process: they also reach the service, which closes the socket in time."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
