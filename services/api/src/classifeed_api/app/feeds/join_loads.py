"""Says with fetches how the loads of their files stand: a file that was fetched well may hold no feed at all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from classifeed.feeds.v1.feed_pb2 import Fetch, FetchLoad
from classifeed.feeds.v1.task_pb2 import Task


class Standings(Protocol):
    """The processor, as this use case needs it."""

    async def find_standings(self, names: Collection[str]) -> Mapping[str, Task]:
        """Return how tasks stand, by resource name; what is not known, or does not come soon, is left out."""


class JoinLoads:
    """Calls the processor once, however many fetches there are.

    Args:
        processor: has the tasks.
    """

    def __init__(self, processor: Standings) -> None:
        self._processor = processor

    async def __call__(self, fetches: Iterable[Fetch]) -> None:
        """Set `load` of each fetch that names a task, where that is known; never raises for the processor's sake."""
        named = [fetch for fetch in fetches if fetch.task]
        if not named:
            return
        tasks = await self._processor.find_standings({fetch.task for fetch in named})
        for fetch in named:
            if (task := tasks.get(fetch.task)) is not None:
                fetch.load.CopyFrom(_load_of(task))


def _load_of(task: Task) -> FetchLoad:
    return FetchLoad(
        status=task.status,
        error_code=task.error_code,
        error_message=task.error_message,
        error_line=task.error_line,
        statistics=task.statistics,
    )
