"""One process that decodes, as the pool sees it: started, given a picture at a time, killed when it takes too long."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from classifeed_common.child_processes import Child, ChildProcesses
from classifeed_common.embedded.process import stopped_among
from classifeed_pictures.decoding.faults import DECODE_TIMEOUT, TOO_MUCH_MEMORY, DecodeFailed, broken
from classifeed_pictures.decoding.limits import Limits, too_much_memory
from classifeed_pictures.decoding.model import Decoded, SizeSpec
from classifeed_pictures.decoding.processes.wire import (
    HEAD_BYTES,
    LENGTHS,
    OUT_OF_MEMORY,
    BadFrame,
    pack_request,
    unpack,
    unpack_result,
)

_START_S: Final = 60.0
_END_S: Final = 1.0
_CLOCK_TIMES: Final = 6
# A response is the original and its versions; more than this comes only from a process that was taken over.
_ANSWER_BYTES: Final = 256 * 1024 * 1024
_READ_BYTES: Final = 1024 * 1024
# No variable of the service reaches a library that reads hostile files. Threads would take address space.
_ENVIRONMENT: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


class ProcessFailed(Exception):
    """A process for decoding could not be started; this says nothing about any picture."""


class ProcessKilled(Exception):
    """Another program killed or stopped the process: the kernel, for the memory of the machine, or an operator."""


class DecodeProcess:
    """A process that decodes one picture at a time.

    Args:
        limits: of pictures, and of its memory.
        deadline_s: how long one picture may take, in seconds of CPU, and six times that by the clock: that others keep
            the machine busy says nothing about the picture.
        children: names the process while it is stopped or does not respond.
    """

    def __init__(self, limits: Limits, deadline_s: float, children: ChildProcesses) -> None:
        self._limits = limits
        self._deadline_s = deadline_s
        self._children = children
        self._child: Child | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._is_ready = False
        # While it has a picture: what is interrupted then cannot be used any more.
        self._is_spent = False
        # Pictures that it was given.
        self.served = 0

    @property
    def pid(self) -> int | None:
        """Return the id of the process; nothing before the start."""
        return self._process.pid if self._process else None

    @property
    def is_alive(self) -> bool:
        """Return whether it lives and was ready once."""
        return self._is_ready and self._process is not None and self._process.poll() is None

    @property
    def is_usable(self) -> bool:
        """Return whether it can take a picture: it lives, and nothing went wrong in it."""
        return self.is_alive and not self._is_spent

    async def start(self) -> None:
        """Start it, and return when it is ready.

        Raises:
            ProcessFailed: it does not start.
        """
        try:
            async with asyncio.timeout(_START_S):
                self._reader, self._writer = await asyncio.open_connection(sock=self._spawn(), limit=_READ_BYTES)
                with self._watched().call():
                    await self._read()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, BadFrame) as error:
            code = await self.kill()
            raise ProcessFailed(f"The process that decodes pictures does not start (exit code {code}).") from error
        except asyncio.CancelledError:
            self.kill_now()
            raise
        self._is_ready = True

    def _spawn(self) -> socket.socket:
        """Start the program with one end of a socket as its input and output; return the other one.

        asyncio's own subprocesses wait for ever when their start is canceled halfway.
        """
        options = {"limits": asdict(self._limits), "deadline_s": self._deadline_s, "parent": os.getpid()}
        ours, theirs = socket.socketpair()
        try:
            # -I: no variables of Python, and no modules from the working directory.
            self._process = subprocess.Popen(  # noqa: S603 - the program is this one
                [sys.executable, "-I", "-m", "classifeed_pictures.decoding.processes.worker", json.dumps(options)],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                env=_ENVIRONMENT,
                cwd="/",
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    async def decode(self, data: bytes, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        """Return what became of a picture. Whatever interrupts this kills the process.

        Raises:
            DecodeFailed: the picture is refused, or it brought the process down or to its deadline.
            ProcessKilled: it was killed or stopped, maybe before it saw the picture.
        """
        self.served += 1
        self._is_spent = True
        try:
            async with asyncio.timeout(self._deadline_s * _CLOCK_TIMES):
                with self._watched().call():
                    self._write(pack_request(data, sizes, formats))
                    fields, blobs = await self._read()
            self._is_spent = fields.get("code") == TOO_MUCH_MEMORY  # after which it ends
            return unpack_result(fields, blobs, data)
        except TimeoutError:
            is_stopped = self.pid in await asyncio.to_thread(stopped_among, [self.pid or 0])
            await self.kill()
            raise (ProcessKilled() if is_stopped else self._timed_out()) from None
        except (asyncio.IncompleteReadError, ConnectionError, BadFrame):
            self._is_spent = True
            code = await self.wait()
            raise self._explain(code) from None
        except asyncio.CancelledError:
            self.kill_now()
            raise

    async def kill(self) -> int | None:
        """End it at once, and return its exit code."""
        self.kill_now()
        return await asyncio.to_thread(self._process.wait) if self._process else None

    async def wait(self) -> int | None:
        """Return the exit code of a process that has closed its side, and ends or is ended."""
        assert self._process is not None
        try:
            return await asyncio.to_thread(self._process.wait, _END_S)
        except subprocess.TimeoutExpired:
            return await self.kill()

    def kill_now(self) -> None:
        """Send it the signal that it cannot catch, and close the socket."""
        self._is_spent = True
        if self._child is not None:
            self._children.remove(self._child)
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        if self._writer is not None:
            self._writer.transport.abort()

    def _watched(self) -> Child:
        """Return the process as its health is watched; from its start on."""
        assert self._process is not None
        if self._child is None:
            self._child = self._children.add("picture decoder", self._process.pid)
        return self._child

    def _timed_out(self) -> DecodeFailed:
        return DecodeFailed(
            DECODE_TIMEOUT,
            f"The picture took longer than {self._deadline_s:g} s to decode. Publish a smaller or a simpler version.",
        )

    def _explain(self, code: int | None) -> Exception:
        """Return the fault of a picture in whose course the process ended."""
        if code == -signal.SIGPROF:
            return self._timed_out()
        if code == -signal.SIGKILL:
            return ProcessKilled()
        if code == OUT_OF_MEMORY:
            return too_much_memory("The picture")
        return broken("The picture brings the program down that decodes it.")

    def _write(self, pieces: Sequence[bytes]) -> None:
        """Hand over a frame; the event loop writes it while the response is awaited, also when nobody reads it."""
        assert self._writer is not None
        self._writer.writelines(pieces)

    async def _read(self) -> tuple[dict[str, Any], list[bytes]]:
        assert self._reader is not None
        head, body = LENGTHS.unpack(await self._reader.readexactly(LENGTHS.size))
        if head > HEAD_BYTES or body > _ANSWER_BYTES:
            raise BadFrame
        return unpack(await self._reader.readexactly(head), await self._reader.readexactly(body))
