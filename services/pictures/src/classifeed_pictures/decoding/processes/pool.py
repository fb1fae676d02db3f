"""Decoding for a service: hostile pictures in, pictures or reasons out, and the service goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import structlog

from classifeed_common.child_processes import ChildProcesses
from classifeed_pictures.decoding.limits import Limits, too_much_memory
from classifeed_pictures.decoding.model import VERSION_FORMATS, Decoded, SizeSpec, Version
from classifeed_pictures.decoding.processes.observing import DecodeObserver, NoObserver, observed
from classifeed_pictures.decoding.processes.process import DecodeProcess, ProcessFailed, ProcessKilled

DEADLINE_S: Final = 5.0
_WAITING_PER_PROCESS: Final = 16

_log = structlog.get_logger(__name__)


class PoolFull(Exception):
    """As many pictures wait as may; try again later. Says nothing about the picture."""


class DecodePool:
    """Processes that decode pictures, each one at a time.

    A picture harms itself alone: its process may die, and another one takes its place. Pictures are taken in the order
    in which they came, and no more wait than `waiting`: whoever brings more is refused at once, and keeps its bytes.
    Where no picture comes, there are no processes: most roles decode nothing.

    Args:
        processes: how many; by default as many as there are cores for this process.
        limits: what a picture may take.
        deadline_s: how long one may take, in seconds of CPU, and six times that by the clock, not counting the wait for
            a process.
        pictures_per_process: after so many a process is replaced, so that what libraries leak has an end.
        waiting: how many pictures may wait for a process.
        observer: takes what became of each picture.
        children: names processes that are stopped or do not respond.
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
        """Return the ids of the processes that live."""
        return [process.pid for process in self._all if process.is_alive and process.pid]

    async def start(self) -> None:
        """Start the processes, and return when they are ready. Without it they are started for the first picture.

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
        """Take no more pictures, let those that are being decoded come to their end, and end the processes."""
        self._is_running, self._is_stopped = False, True
        if self._inside:
            # Each has its deadline, and those that wait find the pool stopped.
            await self._drained.wait()
        await asyncio.gather(*self._renewals)
        await self._kill_all()

    async def decode(self, data: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        """Return a picture without metadata, its smaller versions in each size and format, and its hashes.

        May be called again with the same picture: the result is the same. Does not block the event loop.

        Raises:
            DecodeFailed: the picture is refused; the same bytes are refused again.
            PoolFull: too many wait.
            ProcessFailed: a process cannot be started.
        """
        unknown = set(formats) - set(VERSION_FORMATS)
        if unknown or len({size.name for size in sizes}) != len(sizes):
            raise ValueError(f"Formats are {', '.join(VERSION_FORMATS)}, and each size has a name of its own.")
        if self._inside >= self._room:
            raise PoolFull(f"{self._inside} pictures are being decoded or wait for it.")
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
        """Return versions of a stored picture in further sizes or formats; raises what `decode` raises."""
        return (await self.decode(original, sizes, formats)).versions

    async def _decode(self, data: bytes | Path, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        try:
            return await self._decode_once(data, sizes, formats)
        except ProcessKilled:
            # It may have been killed for the memory of another picture, or before it saw this one.
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
            if not process.is_usable:  # it was ended by somebody else, or could not be replaced
                process = await self._replace(process)
            # Read as late as possible, so that what waits takes no memory.
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
        """Put another process in the place of one that has died or served its time."""
        fresh = process
        try:
            fresh = await self._replace(process)
        except ProcessFailed as error:
            # The next picture tries again, and its caller gets the error.
            _log.warning("pictures.decode_process.start_failed", error=str(error))
        finally:
            self._idle.put_nowait(fresh)

    async def _kill_all(self) -> None:
        await asyncio.gather(*(process.kill() for process in self._all))
        # The sockets are closed in the next iteration of the event loop.
        await asyncio.sleep(0)
        self._all.clear()
