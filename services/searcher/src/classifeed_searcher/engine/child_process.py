"""Processes of this program that work on an index beside the service, each at the other end of a socket."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from typing import Final

_END_S: Final = 10.0


def start_module(name: str, *arguments: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a module as a process; return it and our end of the socket, whose other end is its last argument.

    Raises:
        OSError: the system starts no process.
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
    """Return the exit code of a process whose socket is closed; it is killed where it does not end. Blocks."""
    try:
        return process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def ignore_stop_signals() -> None:
    """In such a process: leave signals that reach all processes at once to the service, which closes the socket."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
