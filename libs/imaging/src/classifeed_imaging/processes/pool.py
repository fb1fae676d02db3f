"""A pool of decoding processes: hostile pictures cannot harm the service."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from classifeed_common.child_processes import ChildProcesses
from classifeed_imaging.limits import Limits, too_much_memory
from classifeed_imaging.model import VERSION_FORMATS, Decoded, SizeSpec, Version
from classifeed_imaging.processes.observing import DecodeObserver, NoObserver, observed
from classifeed_imaging.processes.process import DecodeProcess, ProcessFailed, ProcessKilled

DEADLINE_S: Final = 5.0
_WAITING_PER_PROCESS: Final = 16

_log = structlog.get_logger(__name__)


class PoolFull(Exception):
    """The maximum number of pictures wait; retry later. This says nothing about the picture."""


class DecodePool:
    """Processes that decode pictures, each one at a time.

    A picture can kill only its own process, which is replaced. Pictures are decoded in order of arrival. If more than
    `waiting` of them wait, further ones are refused at once. Processes are started for the first picture, since most
    roles decode nothing.

    Args:
        processes: number of processes; by default one per available core.
        limits: limits of a picture.
        deadline_s: CPU seconds that a picture may take; its wall-clock limit is six times that, without the wait for a
            process.
        pictures_per_process: number of pictures after which a process is replaced, to bound leaks of libraries.
        waiting: maximum number of pictures that wait for a process.
        observer: observer of the outcome of each picture.
        children: reports processes that are stopped or do not respond.
    """

    def __init__(
        self,
        *,
        processes: int | None = None,
        limits: Limits | None = None,
        deadline_s: float = DEADLINE_S,
        pictures_per_process: int = 1000,
        waiting: int | None = None,
        observer: DecodeObserver | None = None,
        children: ChildProcesses | None = None,
    ) -> None:
        self._size = processes or len(os.sched_getaffinity(0))
        self._limits = limits or Limits()
        self._deadline_s = deadline_s
        self._pictures_per_process = pictures_per_process
        self._room = self._size + (self._size * _WAITING_PER_PROCESS if waiting is None else waiting)
        self._observer = observer or NoObserver()
        self.children = children or ChildProcesses()
        self._inside = 0
        self._idle: asyncio.Queue[DecodeProcess] = asyncio.Queue()
        self._all: set[DecodeProcess] = set()
        self._renewals: set[asyncio.Task[None]] = set()
        self._is_running = False
        self._is_stopped = False
        self._starting = asyncio.Lock()
        self._drained = asyncio.Event()

    @property
    def pids(self) -> list[int]:
        """Return the ids of the living processes."""
        return [process.pid for process in self._all if process.is_alive and process.pid]

    async def start(self) -> None:
        """Start the processes, and return when they are ready. Without this call, the first picture starts them.

        Raises:
            ProcessFailed: one does not start.
        """
        processes = [self._make() for _ in range(self._size)]
        try:
            async with asyncio.TaskGroup() as group:
                for process in processes:
                    group.create_task(process.start())
        except ExceptionGroup as errors:
            await self._kill_all()
            raise errors.exceptions[0] from None
        except asyncio.CancelledError:
            await self._kill_all()
            raise
        for process in processes:
            self._idle.put_nowait(process)
        self._is_running = True

    async def stop(self) -> None:
        """Refuse further pictures, wait for those that are being decoded, and end the processes."""
        self._is_running, self._is_stopped = False, True
        if self._inside:
            # Each picture has a deadline, and waiting ones find the pool stopped.
            await self._drained.wait()
        await asyncio.gather(*self._renewals)
        await self._kill_all()

    async def decode(self, data: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        """Return a picture without metadata, its smaller versions in each size and format, and its hashes.

        The result for the same picture is always the same. Does not block the event loop.

        Raises:
            DecodeFailed: the picture is refused; the same bytes are always refused.
            PoolFull: too many pictures wait.
            ProcessFailed: a process cannot be started.
        """
        unknown = set(formats) - set(VERSION_FORMATS)
        if unknown or len({size.name for size in sizes}) != len(sizes):
            raise ValueError(f"Formats are {', '.join(VERSION_FORMATS)}, and the names of sizes must differ.")
        if self._inside >= self._room:
            raise PoolFull(f"{self._inside} pictures are being decoded or wait.")
        self._inside += 1
        self._drained.clear()
        try:
            async with self._starting:
                if self._is_stopped:
                    raise ProcessFailed("The pool was stopped.")
                if not self._is_running:
                    await self.start()
            return await self._decode(data, sizes, formats)
        finally:
            self._inside -= 1
            if not self._inside:
                self._drained.set()

    async def resize(
        self, original: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]
    ) -> tuple[Version, ...]:
        """Return further versions of a stored picture; raises what `decode` raises."""
        return (await self.decode(original, sizes, formats)).versions

    async def _decode(self, data: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        try:
            return await self._decode_once(data, sizes, formats)
        except ProcessKilled:
            # It may have been killed because of another picture's memory, or before it read this one.
            pass
        try:
            return await self._decode_once(data, sizes, formats)
        except ProcessKilled:
            raise too_much_memory("The picture") from None

    async def _decode_once(self, data: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        process = await self._idle.get()
        try:
            if not self._is_running:
                raise ProcessFailed("The pool was stopped.")
            if not process.is_usable:  # it was killed from outside, or could not be replaced
                process = await self._replace(process)
            # Read as late as possible, so that waiting pictures need no memory.
            content = await asyncio.to_thread(data.read_bytes) if isinstance(data, Path) else data
            with observed(process, self._observer):
                return await process.decode(content, sizes, formats)
        finally:
            self._return(process)

    def _make(self) -> DecodeProcess:
        process = DecodeProcess(self._limits, self._deadline_s, self.children)
        self._all.add(process)
        return process

    async def _replace(self, process: DecodeProcess) -> DecodeProcess:
        self._all.discard(process)
        await process.kill()
        fresh = self._make()
        try:
            await fresh.start()
        except BaseException:
            self._all.discard(fresh)
            raise
        return fresh

    def _return(self, process: DecodeProcess) -> None:
        if not self._is_running or (process.is_usable and process.served < self._pictures_per_process):
            self._idle.put_nowait(process)
            return
        task = asyncio.create_task(self._renew(process))
        self._renewals.add(task)
        task.add_done_callback(self._renewals.discard)

    async def _renew(self, process: DecodeProcess) -> None:
        """Replace a process that has died or has decoded its maximum number of pictures."""
        fresh = process
        try:
            fresh = await self._replace(process)
        except ProcessFailed as error:
            # The next picture retries the start, and its caller gets the error.
            _log.warning("pictures.decode_process.start_failed", error=str(error))
        finally:
            self._idle.put_nowait(fresh)

    async def _kill_all(self) -> None:
        await asyncio.gather(*(process.kill() for process in self._all))
        # The sockets are closed in the next iteration of the event loop.
        await asyncio.sleep(0)
        self._all.clear()
