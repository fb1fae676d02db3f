"""A supervised process: started, watched, and restarted with back-off when it exits."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path

from classifeed_common.pacing.backoff import Backoff
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.processes import ProcessIdentity
from classifeed_devkit.embedded.process import ServerError, explain_os_error, tail

_POLL_S = 0.1
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
_STEADY_S = 20.0  # after a run of this length, the back-off restarts at its minimum
_REMEMBERED = 20
_LAST_LINES = 5
SETTINGS_REFUSED = 2  # exit code of a service that will never start with these settings


async def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for a child process and return its exit code. It polls, without a thread or a signal handler."""
    while (code := process.poll()) is None:  # noqa: ASYNC110 - see above
        await asyncio.sleep(_POLL_S / 2)
    return code


class Supervised:
    """A process that is restarted until `stop`.

    Args:
        name: Name for logs and status.
        spawn: Function that starts the process without waiting; called in the event loop's thread, which must live as
            long as the supervisor. It may raise ServerError or OSError, which count as an exit.
        probe: Function that returns whether the process serves. It may raise ServerError if the process never will.
        log: File for the output of the process.
        stop_signal: Signal that stops the process.
        stop_timeout_s: Seconds after which the process is killed instead.
        on_change: Callback after each start and each exit; it must not raise.
    """

    def __init__(
        self,
        name: str,
        *,
        spawn: Callable[[], subprocess.Popen[bytes]],
        probe: Callable[[], Awaitable[bool]],
        log: Path,
        stop_signal: signal.Signals = signal.SIGTERM,
        stop_timeout_s: float = 20.0,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.probe = probe
        self.log = log
        self.restarts = 0
        # Times of restarts, in seconds since the epoch. The newest are enough to detect a loop.
        self.restart_times: deque[float] = deque(maxlen=_REMEMBERED)
        self.last_words = ""
        self.process: subprocess.Popen[bytes] | None = None
        self.last_exit: int | None = None
        self.refusal: str | None = None
        self._identity: ProcessIdentity | None = None
        self._spawn = spawn
        self._stop_signal = stop_signal
        self._stop_timeout_s = stop_timeout_s
        self._on_change = on_change
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._probing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start and watch the process, without waiting."""
        self._start_once()
        self._task = asyncio.create_task(self._watch(), name=f"watch {self.name}")

    async def wait_ready(self) -> None:
        """Wait until the process serves, without a timeout."""
        await self._ready.wait()

    @property
    def ready(self) -> bool:
        """Whether the current process has served since its start."""
        return self._ready.is_set() and self.alive

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self.process is not None and self.process.poll() is None

    @property
    def identity(self) -> ProcessIdentity | None:
        """Identity of the running process; None if none runs."""
        if self.process is None or not self.alive:
            return None
        if self._identity is None:
            self._identity = ProcessIdentity.of(self.process.pid)
        return self._identity

    async def stop(self) -> None:
        """Signal the process to stop, wait, and kill it after the timeout. May be called twice."""
        self._stopping.set()
        process = self.process
        if process is not None and process.poll() is None:
            process.send_signal(self._stop_signal)
            try:
                async with asyncio.timeout(self._stop_timeout_s):
                    await ended(process)
            except TimeoutError:
                process.kill()
                await ended(process)
        if self._probing is not None:
            self._probing.cancel()
        if self._task is not None:
            await self._task
            self._task = None

    def kill(self) -> None:
        """Kill the process, for a second Ctrl-C."""
        self._stopping.set()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def _start_once(self) -> None:
        self.process, self._identity, self.refusal = None, None, None
        try:
            self.process = self._spawn()
        except ServerError as error:
            self.refusal = str(error)
        except OSError as error:  # temporarily no disk space, memory or process slot
            self.refusal = f"{self.name}: {explain_os_error(error, self.log)}"
        else:
            self._probing = asyncio.create_task(self._find_ready(), name=f"probe {self.name}")
        self._on_change()

    async def _find_ready(self) -> None:
        try:
            while not await self.probe():  # noqa: ASYNC110 - another process cannot set an event
                await asyncio.sleep(_POLL_S / 2)
        except ServerError as error:  # it responds, but will never be ready
            self.refusal = str(error)
        else:
            self._ready.set()
        self._on_change()

    def _forget_ready(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
        self._ready.clear()

    async def _watch(self) -> None:
        backoff = Backoff(2 * _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while not self._stopping.is_set():
            started = time.monotonic()
            if self.process is not None:
                self.last_exit = await ended(self.process)
                self.last_words = tail(self.log, _LAST_LINES)
            self._forget_ready()
            if self._stopping.is_set():
                return
            self._on_change()
            if time.monotonic() - started > _STEADY_S:
                backoff.reset()
                pause_s = _FIRST_PAUSE_S
            else:
                pause_s = backoff.next_s()
            await wait_for_event(self._stopping, pause_s)
            if not self._stopping.is_set():  # no await from here to the start, so `stop` sees the new process
                self.restarts += 1
                if self.last_exit:  # after an orderly stop by a signal, the exit code is 0
                    self.restart_times.append(time.time())
                self._start_once()
