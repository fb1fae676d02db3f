"""Waking the job of a task when the consumer of this process has moved it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from classifeed_processor.domain.tasks import TaskKey


class TaskSignals:
    """A bell for each task that somebody waits for. Only a hint: who waits looks into the database anyway."""

    def __init__(self) -> None:
        self._bells: dict[TaskKey, asyncio.Event] = {}

    def ring(self, keys: Iterable[TaskKey]) -> None:
        """Wakes those who wait for these tasks."""
        for key in keys:
            if bell := self._bells.get(key):
                bell.set()

    async def wait(self, key: TaskKey, limit_s: float) -> None:
        """Return when the bell of the task rings, or has rung since the last wait, at the latest after `limit_s`."""
        bell = self._bells.setdefault(key, asyncio.Event())
        try:
            async with asyncio.timeout(limit_s):
                await bell.wait()
        except TimeoutError:
            return
        bell.clear()

    def forget(self, key: TaskKey) -> None:
        """Drop the bell of a task that nobody waits for any more."""
        self._bells.pop(key, None)
