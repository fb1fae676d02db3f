"""Adds to each fetch the state of the load of its file: a file that was fetched may turn out to be no feed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from classifeed.feeds.v1.feed_pb2 import Fetch, FetchLoad
from classifeed.feeds.v1.task_pb2 import Task


class Standings(Protocol):
    """The processor, as this use case needs it."""

    async def list_standings(self, names: Collection[str]) -> Mapping[str, Task]:
        """Return tasks by resource name, without those that are unknown or do not come in time."""


class JoinLoads:
    """Joins fetches with their loads in one call to the processor, for any number of fetches.

    Args:
        processor: client for tasks.
    """

    def __init__(self, processor: Standings) -> None:
        self._processor = processor

    async def __call__(self, fetches: Iterable[Fetch]) -> None:
        """Set `load` of each fetch that names a known task; never raises if the processor fails."""
        named = [fetch for fetch in fetches if fetch.task]
        if not named:
            return
        tasks = await self._processor.list_standings({fetch.task for fetch in named})
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
