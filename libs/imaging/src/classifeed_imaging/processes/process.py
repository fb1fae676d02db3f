"""One decoding process from the pool's side: started, given one picture at a time, killed at its deadline."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from classifeed_common.child_processes import ChildProcess, ChildProcesses
from classifeed_common.processes import stopped_among
from classifeed_imaging.faults import DECODE_TIMEOUT, TOO_MUCH_MEMORY, DecodeFailed, broken
from classifeed_imaging.limits import Limits, too_much_memory
from classifeed_imaging.model import Decoded, SizeSpec
from classifeed_imaging.processes.wire import (
    HEAD_BYTES,
    LENGTHS,
    OUT_OF_MEMORY,
    BadFrame,
    pack_request,
    unpack,
    unpack_result,
)

_WORKER: Final = "classifeed_imaging.processes.worker"
_START_S: Final = 60.0
_END_S: Final = 1.0
_CLOCK_TIMES: Final = 6
# A response has the original and its versions; only a compromised process sends more than this.
_ANSWER_BYTES: Final = 256 * 1024 * 1024
_READ_BYTES: Final = 1024 * 1024
# Libraries that read hostile files get no variable of the service. Threads would need address space.
_ENVIRONMENT: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


class ProcessFailed(Exception):
    """A decoding process could not be started; this says nothing about any picture."""


class ProcessKilled(Exception):
    """The process was killed or stopped from outside: by the kernel, which needed memory, or by an operator."""


class DecodeProcess:
    """A process that decodes one picture at a time.

    Args:
        limits: limits of pictures and of the process's memory.
        deadline_s: seconds of CPU that one picture may take; the wall-clock limit is six times that, since other load
            on the machine is not the picture's fault.
        children: reports the process while it is stopped or does not respond.
    """

    def __init__(self, limits: Limits, deadline_s: float, children: ChildProcesses) -> None:
        self._limits = limits
        self._deadline_s = deadline_s
        self._children = children
        self._child: ChildProcess | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._is_ready = False
        # Set while it decodes: a process that is interrupted then cannot be used again.
        self._is_spent = False
        # Number of pictures that it received.
        self.served = 0

    @property
    def pid(self) -> int | None:
        """Return the id of the process; None before the start."""
        return self._child.pid if self._child else None

    @property
    def is_alive(self) -> bool:
        """Return whether it has been ready and lives."""
        return self._is_ready and self._child is not None and self._child.is_alive

    @property
    def is_usable(self) -> bool:
        """Return whether it can decode a picture: it lives and has had no fault."""
        return self.is_alive and not self._is_spent

    async def start(self) -> None:
        """Start it, and return when it is ready.

        Raises:
            ProcessFailed: it does not start.
        """
        try:
            async with asyncio.timeout(_START_S):
                options = {"limits": asdict(self._limits), "deadline_s": self._deadline_s, "parent": os.getpid()}
                self._child = self._children.start(
                    "picture decoder", _WORKER, json.dumps(options), environment=_ENVIRONMENT
                )
                self._reader, self._writer = await asyncio.open_connection(sock=self._child.socket, limit=_READ_BYTES)
                with self._child.call():
                    await self._read()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, BadFrame) as error:
            code = await self.kill()
            raise ProcessFailed(f"The process that decodes pictures does not start (exit code {code}).") from error
        except asyncio.CancelledError:
            self.kill_now()
            raise
        self._is_ready = True

    async def decode(self, data: bytes, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        """Return the decoded picture. An interruption kills the process.

        Raises:
            DecodeFailed: the picture is refused, crashed the process, or took too long.
            ProcessKilled: it was killed or stopped, perhaps before it read the picture.
        """
        assert self._child is not None
        self.served += 1
        self._is_spent = True
        try:
            async with asyncio.timeout(self._deadline_s * _CLOCK_TIMES):
                with self._child.call():
                    self._write(pack_request(data, sizes, formats))
                    fields, blobs = await self._read()
            self._is_spent = fields.get("code") == TOO_MUCH_MEMORY  # it ends after this code
            return unpack_result(fields, blobs, data)
        except TimeoutError:
            is_stopped = self.pid in await asyncio.to_thread(stopped_among, [self._child.pid])
            await self.kill()
            raise (ProcessKilled() if is_stopped else self._timed_out()) from None
        except (asyncio.IncompleteReadError, ConnectionError, BadFrame):
            self._is_spent = True
            code = await asyncio.to_thread(self._child.wait, _END_S)
            raise self._explain(code) from None
        except asyncio.CancelledError:
            self.kill_now()
            raise

    async def kill(self) -> int | None:
        """Kill it, and return its exit code."""
        self.kill_now()
        return await asyncio.to_thread(self._child.wait) if self._child else None

    def kill_now(self) -> None:
        """Send SIGKILL, and close the socket."""
        self._is_spent = True
        if self._child is not None:
            self._child.kill()
        if self._writer is not None:
            self._writer.transport.abort()

    def _timed_out(self) -> DecodeFailed:
        return DecodeFailed(
            DECODE_TIMEOUT,
            f"The picture took longer than {self._deadline_s:g} s to decode. Publish a smaller or a simpler version.",
        )

    def _explain(self, code: int | None) -> Exception:
        """Return the fault of a picture during which the process ended."""
        if code == -signal.SIGPROF:
            return self._timed_out()
        if code == -signal.SIGKILL:
            return ProcessKilled()
        if code == OUT_OF_MEMORY:
            return too_much_memory("The picture")
        return broken("The picture crashes the decoder.")

    def _write(self, pieces: Sequence[bytes]) -> None:
        """Queue a frame; the event loop writes it during the wait for the response, even if the process hangs."""
        assert self._writer is not None
        self._writer.writelines(pieces)

    async def _read(self) -> tuple[dict[str, Any], list[bytes]]:
        assert self._reader is not None
        head, body = LENGTHS.unpack(await self._reader.readexactly(LENGTHS.size))
        if head > HEAD_BYTES or body > _ANSWER_BYTES:
            raise BadFrame
        return unpack(await self._reader.readexactly(head), await self._reader.readexactly(body))
