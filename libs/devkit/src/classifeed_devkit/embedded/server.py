"""EmbeddedServer: the base class of the three embedded servers."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

from classifeed_devkit.embedded.ports import is_free, pick_free_port
from classifeed_devkit.embedded.process import ServerError, explain_os_error, stop_process, tail


class EmbeddedServer(ABC):
    """One server process with one data folder.

    `start` runs `prepare` (may take seconds, runs in any thread, idempotent), `spawn` (returns at once; needs a thread
    that lives as long as the process, see `spawn_bound`) and `wait_ready` (blocks). After `stop` or `kill` the same
    object can start again on the same port and data.
    """

    name = "server"
    stop_signal = signal.SIGTERM
    death_signal = signal.SIGKILL

    def __init__(self, data_dir: Path, port: int | None = None, *, log: Path | None = None) -> None:
        """Prepare a server. Default port: a free one. Default log: a file next to the data folder."""
        self.data_dir = data_dir.absolute()
        self.port = port if port is not None else pick_free_port()
        self.log = (log or self.data_dir.with_name(f"{self.data_dir.name}.log")).absolute()
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def prepare(self) -> None:
        """Prepare the data folder; idempotent. Raises ServerError."""

    @abstractmethod
    def _spawn(self) -> subprocess.Popen[bytes]:
        """Start the process."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Probe once, quickly, whether the server responds to a real request."""

    @property
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    def spawn(self) -> None:
        """Start the process and return at once.

        Raises:
            ServerError: the port is in use, or the log cannot be written.
        """
        if not is_free(self.port):
            raise ServerError(f"{self.name}: port {self.port} is in use: stop what listens there or choose another")
        try:
            self.process = self._spawn()
        except OSError as error:
            raise ServerError(f"{self.name}: {explain_os_error(error, self.log)}") from error

    def wait_ready(self, timeout_s: float = 60) -> None:
        """Block until the server responds.

        Raises:
            ServerError: it exited, or did not respond in time; the message has the end of its log.
        """
        deadline = time.monotonic() + timeout_s
        while not self.is_ready():
            if self.process is None or self.process.poll() is not None:
                raise ServerError(
                    f"{self.name} exited while starting; the end of its log ({self.log}):\n{tail(self.log)}"
                )
            if time.monotonic() > deadline:
                raise ServerError(
                    f"{self.name} is not ready after {timeout_s:g} s; the end of its log "
                    f"({self.log}):\n{tail(self.log)}"
                )
            time.sleep(0.03)

    def start(self, timeout_s: float = 60) -> Self:
        """Prepare, spawn and wait; the usual way to start."""
        self.prepare()
        self.spawn()
        self.wait_ready(timeout_s)
        return self

    def stop(self, timeout_s: float = 20) -> None:
        """Stop cleanly, or kill after `timeout_s`. Idempotent."""
        if self.process is not None:
            stop_process(self.process, self.stop_signal, timeout_s)

    def kill(self) -> None:
        """Send SIGKILL, as a fault test does, and wait until the process has exited."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def restart(self, timeout_s: float = 60) -> None:
        """Stop if running, then start on the same port and data."""
        self.stop()
        self.start(timeout_s)

    @property
    def pid(self) -> int | None:
        """Process id while the process runs."""
        return self.process.pid if self.process is not None and self.process.poll() is None else None

    def _is_port_open(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False
