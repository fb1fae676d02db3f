"""Work that pauses at each step until a test resumes it or kills it there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from classifeed_common.db import Database, Tx


class Killed(Exception):
    """The process was killed."""


@dataclass
class Run:
    """A running piece of work that pauses at each step until it is resumed.

    Attributes:
        at: step at which it pauses; empty: it is running, or waits for a lock.
        ended: called with its result, unless it is killed.
        again: called if it was killed.
    """

    task: asyncio.Task[Any]
    ended: Callable[[Any], None]
    again: Callable[[], None]
    at: str = ""
    gate: asyncio.Future[bool] | None = None

    def resume(self, *, is_killed: bool) -> None:
        gate, self.gate, self.at = self.gate, None, ""
        assert gate is not None
        gate.set_result(is_killed)


_current: ContextVar[Run] = ContextVar("run")


async def stand_at(step: str) -> None:
    """Pause at a step of the current run, and raise if it is killed there."""
    if (run := _current.get(None)) is None:
        return
    run.at, run.gate = step, asyncio.get_running_loop().create_future()
    if await run.gate:
        raise Killed(step)


def begin(work: Coroutine[Any, Any, Any], ended: Callable[[Any], None], again: Callable[[], None]) -> Run:
    """Begin a run."""

    async def run() -> Any:
        _current.set(made)
        return await work

    made = Run(cast("asyncio.Task[Any]", None), ended, again)
    made.task = asyncio.create_task(run())
    return made


class SteppedDatabase:
    """Pauses before and after each commit."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        async with self._database.transaction() as tx:
            yield tx
            await stand_at("before its commit")
        await stand_at("behind its commit")


class SteppedBlobs:
    """Files in memory; pauses before and after each is stored or deleted."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    async def put_bytes(self, content: bytes, sha256: str, *, is_new: bool = False) -> None:
        await stand_at("before a file")
        self.files[sha256] = content if is_new else self.files.get(sha256, content)
        await stand_at("behind a file")

    async def delete(self, sha256: str) -> None:
        await stand_at("before a deletion")
        self.files.pop(sha256, None)
        await stand_at("behind a deletion")

    async def list_own(self) -> list[str]:
        return list(self.files)
