"""ChildProcesses: starts a service's child processes, and reports those that do not work (ADR 0091)."""

from __future__ import annotations

import asyncio
import itertools
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import structlog

from classifeed_common.clock import Clock, SystemClock
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.processes import stopped_among

_log = structlog.get_logger(__name__)

RESPONSE_S: Final = 5.0
_PERIOD_S: Final = 3.0


class Child:
    """One watched child process.

    Attributes:
        name: what the process does, for people, such as "index writer of offers".
        pid: id of the process.
    """

    def __init__(self, name: str, pid: int, clock: Clock) -> None:
        self.name = name
        self.pid = pid
        self._clock = clock
        self._numbers = itertools.count()
        self._calls: dict[int, float] = {}

    @contextmanager
    def call(self) -> Iterator[None]:
        """Note a call that lasts as long as the block. From any thread."""
        number = next(self._numbers)
        self._calls[number] = self._clock.monotonic_s()
        try:
            yield
        finally:
            del self._calls[number]

    @property
    def waits_s(self) -> float:
        """Return the age of the oldest open call, in seconds; 0 without one."""
        # tuple() copies in one step: other threads may begin and end calls meanwhile.
        return max((self._clock.monotonic_s() - since_s for since_s in tuple(self._calls.values())), default=0.0)


class ChildProcess:
    """A child process that is watched from its start to its end.

    Attributes:
        socket: our end of the socket; the other end is the child's standard input and output.
    """

    def __init__(
        self, children: ChildProcesses, name: str, process: subprocess.Popen[bytes], ours: socket.socket
    ) -> None:
        self.socket = ours
        self._children = children
        self._process = process
        self._watched = children.add(name, process.pid)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def call(self) -> AbstractContextManager[None]:
        """Note a call that lasts as long as the block. From any thread."""
        return self._watched.call()

    def kill(self) -> None:
        """Send SIGKILL, and watch the process no longer. From any thread."""
        self._children.remove(self._watched)
        if self.is_alive:
            self._process.kill()

    def wait(self, limit_s: float = 0.0) -> int:
        """Return the exit code; kill the process if it does not end within `limit_s` seconds. Blocks."""
        try:
            return self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._children.remove(self._watched)


class ChildProcesses:
    """The child processes of one service, for `Role.run` and `Role.blocked`.

    The owner of a child process begins it by `start` and notes each call to it. A child is reported when a call to it
    has been open for `response_s`. A stopped child is reported even without a call.

    Args:
        response_s: age of an open call at which its process is reported, in seconds.
        period_s: pause between two checks of the processes' states, in seconds.
        clock: clock of the calls; None: the system's.
    """

    def __init__(
        self, *, response_s: float = RESPONSE_S, period_s: float = _PERIOD_S, clock: Clock | None = None
    ) -> None:
        self._response_s = response_s
        self._period_s = period_s
        self._clock = clock or SystemClock()
        self._children: dict[int, Child] = {}
        self._stopped: frozenset[int] = frozenset()

    @property
    def pids(self) -> list[int]:
        """Return the ids of the watched processes."""
        return list(self._children)

    def add(self, name: str, pid: int) -> Child:
        """Watch a process from now on. From any thread.

        Args:
            name: what the process does, for people.
            pid: id of the process, which is a child of this one.
        """
        child = self._children[pid] = Child(name, pid, self._clock)
        return child

    def remove(self, child: Child) -> None:
        """Forget a process that has ended; has no effect if repeated. From any thread."""
        if self._children.get(child.pid) is child:
            del self._children[child.pid]

    def start(
        self, name: str, module: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> ChildProcess:
        """Start a module as a child process and watch it. From any thread.

        asyncio's own subprocesses wait forever if their start is canceled halfway.

        Args:
            name: what the process does, for people.
            module: name of the module, which reads and writes its standard input and output.
            arguments: arguments of the module.
            environment: the only variables of the process, which then also gets no modules from the working directory;
                None: those of this process.

        Raises:
            OSError: the system cannot start a process.
        """
        ours, theirs = socket.socketpair()
        is_isolated = environment is not None
        try:
            process = subprocess.Popen(  # noqa: S603 - the program is this one
                [sys.executable, *(["-I"] if is_isolated else []), "-m", module, *arguments],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                env=environment,
                cwd="/" if is_isolated else None,
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return ChildProcess(self, name, process, ours)

    async def run(self, stop: asyncio.Event) -> None:
        """Look for stopped processes until `stop` is set."""
        while not stop.is_set():
            self._look()
            await wait_for_event(stop, self._period_s)

    def blocked(self) -> Mapping[str, str]:
        """Return each process that is stopped or does not respond, with its pid and the fix."""
        stopped = self._stopped
        found: dict[str, str] = {}
        for child in tuple(self._children.values()):
            key = f"{child.name} (process {child.pid})"
            end = f"`kill -KILL {child.pid}` ends the process, and the service starts another one."
            if child.pid in stopped:
                found[key] = (
                    f"the process was stopped by a signal, and its work waits. `kill -CONT {child.pid}` resumes it; "
                    f"{end}"
                )
            elif (waits_s := child.waits_s) > self._response_s:
                found[key] = (
                    f"the process has not responded for {waits_s:.0f} s. It may wait for a disk or a core; {end}"
                )
        return found

    def _look(self) -> None:
        stopped = stopped_among(self.pids)
        for pid in stopped - self._stopped:
            if (child := self._children.get(pid)) is not None:
                _log.warning("runner.child.stopped", child=child.name, pid=pid)
        self._stopped = stopped
