"""One process that decodes, as the pool sees it: started, given a picture at a time, killed when it takes too long."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from classifeed_pictures.decoding.faults import DECODE_TIMEOUT, TOO_MUCH_MEMORY, DecodeFailed, broken
from classifeed_pictures.decoding.limits import Limits
from classifeed_pictures.decoding.model import Decoded, SizeSpec
from classifeed_pictures.decoding.wire import HEAD_BYTES, LENGTHS, BadFrame, pack_request, unpack, unpack_result

_START_S: Final = 60.0
# An answer is the original and its versions; more than this comes only from a process that was taken over.
_ANSWER_BYTES: Final = 256 * 1024 * 1024
_READ_BYTES: Final = 1024 * 1024
# No variable of the service reaches a library that reads hostile files. Threads would take address space.
_ENVIRONMENT: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}


class ProcessFailed(Exception):
    """A process for decoding could not be started; this says nothing about any picture."""


class ProcessKilled(Exception):
    """Somebody else killed the process: the kernel, for the memory of the machine, or an operator."""


class DecodeProcess:
    """A process that decodes one picture at a time.

    Args:
        limits: of pictures, and of its memory.
        deadline_s: how long one picture may take, in seconds of the wall clock, and of CPU.
    """

    def __init__(self, limits: Limits, deadline_s: float) -> None:
        self._limits = limits
        self._deadline_s = deadline_s
        self._process: asyncio.subprocess.Process | None = None
        self._is_spent = False
        # Pictures that it was given.
        self.served = 0

    @property
    def pid(self) -> int | None:
        """Return the id of the process; nothing before the start."""
        return self._process.pid if self._process else None

    @property
    def is_usable(self) -> bool:
        """Return whether it can take a picture: it lives, and nothing went wrong in it."""
        return self._process is not None and self._process.returncode is None and not self._is_spent

    async def start(self) -> None:
        """Start it, and return when it is ready.

        Raises:
            ProcessFailed: it does not start.
        """
        # Shielded: asyncio waits for ever when the making of a child is canceled halfway.
        creation = asyncio.create_task(self._create())
        try:
            self._process = await asyncio.shield(creation)
            async with asyncio.timeout(_START_S):
                await self._read()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, BadFrame) as error:
            code = await self.kill()
            raise ProcessFailed(f"The process that decodes pictures does not start (exit code {code}).") from error
        except asyncio.CancelledError:
            creation.add_done_callback(_kill_child)
            raise

    async def _create(self) -> asyncio.subprocess.Process:
        options = {"limits": asdict(self._limits), "deadline_s": self._deadline_s, "parent": os.getpid()}
        # -I: no variables of Python, and no modules from the working directory.
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-m", "classifeed_pictures.decoding.worker", json.dumps(options)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=_ENVIRONMENT,
            cwd="/",
            limit=_READ_BYTES,
        )

    async def decode(self, data: bytes, sizes: Sequence[SizeSpec], formats: Sequence[str]) -> Decoded:
        """Return what became of a picture. Whatever interrupts this kills the process.

        Raises:
            DecodeFailed: the picture is refused, or it brought the process down or to its deadline.
            ProcessKilled: it was killed, maybe before it saw the picture.
        """
        self.served += 1
        self._is_spent = True
        try:
            async with asyncio.timeout(self._deadline_s):
                self._write(pack_request(data, sizes, formats))
                fields, blobs = await self._read()
            self._is_spent = fields.get("code") == TOO_MUCH_MEMORY  # after which it ends
            return unpack_result(fields, blobs, data)
        except TimeoutError:
            await self.kill()
            raise self._timed_out() from None
        except (asyncio.IncompleteReadError, ConnectionError, BadFrame):
            self._is_spent = True
            code = await self.kill(first_wait_s=1.0)
            raise self._explain(code) from None
        except asyncio.CancelledError:
            self.kill_now()
            raise

    async def kill(self, first_wait_s: float = 0.0) -> int | None:
        """End it at once and return its exit code; with `first_wait_s`, after it had time to end by itself."""
        if self._process is None:
            return None
        if first_wait_s:
            try:
                async with asyncio.timeout(first_wait_s):
                    return await self._process.wait()
            except TimeoutError:
                pass
        self.kill_now()
        return await self._process.wait()

    def kill_now(self) -> None:
        """Send it the signal that it cannot catch."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    def _timed_out(self) -> DecodeFailed:
        return DecodeFailed(
            DECODE_TIMEOUT,
            f"The picture took longer than {self._deadline_s:g} s to decode. Publish a smaller or a simpler version.",
        )

    def _explain(self, code: int | None) -> Exception:
        """Return the fault of a picture in whose course the process ended."""
        if code == -signal.SIGXCPU:
            return self._timed_out()
        if code == -signal.SIGKILL:
            return ProcessKilled()
        return broken("The picture brings the program down that decodes it.")

    def _write(self, pieces: Sequence[bytes]) -> None:
        """Hand over a frame; the event loop writes it while the answer is awaited, also when nobody reads it."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.writelines(pieces)

    async def _read(self) -> tuple[dict[str, Any], list[bytes]]:
        assert self._process is not None
        assert self._process.stdout is not None
        head, body = LENGTHS.unpack(await self._process.stdout.readexactly(LENGTHS.size))
        if head > HEAD_BYTES or body > _ANSWER_BYTES:
            raise BadFrame
        return unpack(await self._process.stdout.readexactly(head), await self._process.stdout.readexactly(body))


def _kill_child(creation: asyncio.Task[asyncio.subprocess.Process]) -> None:
    if not creation.cancelled() and creation.exception() is None and creation.result().returncode is None:
        creation.result().kill()
