"""Wake the job of a task when the consumer of this process has moved the task."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from classifeed_processor.domain.tasks import TaskKey


class TaskSignals:
    """An event for each task that a job waits for. It is only a hint: the jobs poll the database, too."""

    def __init__(self) -> None:
        self._events: dict[TaskKey, asyncio.Event] = {}

    def notify(self, keys: Iterable[TaskKey]) -> None:
        """Wake the jobs that wait for these tasks."""
        for key in keys:
            if event := self._events.get(key):
                event.set()

    async def wait(self, key: TaskKey, limit_s: float) -> None:
        """Return once the event of the task is set, or was set since the last wait, or after `limit_s` seconds."""
        event = self._events.setdefault(key, asyncio.Event())
        try:
            async with asyncio.timeout(limit_s):
                await event.wait()
        except TimeoutError:
            return
        event.clear()

    def forget(self, key: TaskKey) -> None:
        """Drop the event of a task for which no job waits any more."""
        self._events.pop(key, None)
