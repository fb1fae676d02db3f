"""TaskQueue: texts that wait in memory for a worker, by kind, so that many of one kind do not delay another."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping

from classifeed_moderation.domain.subjects import Kind, Task
from classifeed_moderation.metrics import DROPPED, QUEUED


class TaskQueue:
    """A bounded queue for each kind. A text is in it once, from `put` to `done`. For one event loop.

    Args:
        size: texts of a kind that wait, at most.
        limits: texts of a kind that workers may have at a time, for kinds that have such a limit.
    """

    def __init__(self, size: int, limits: Mapping[Kind, int] | None = None) -> None:
        self._size = size
        self._limits = dict(limits or {})
        self._waiting: dict[Kind, deque[Task]] = {kind: deque() for kind in Kind}
        self._running: dict[Kind, int] = dict.fromkeys(Kind, 0)
        self._known: set[tuple[str, bytes]] = set()
        self._takers: deque[asyncio.Future[None]] = deque()
        self._half_empty = {kind: asyncio.Event() for kind in Kind}
        for kind in Kind:
            self._measure(kind)

    def put(self, task: Task) -> bool:
        """Add a text without waiting; return whether it waits or is with a worker now."""
        if _identity(task) in self._known:
            return True
        waiting = self._waiting[task.kind]
        if len(waiting) >= self._size:
            DROPPED.labels(task.kind.lower()).inc()
            return False
        waiting.append(task)
        self._known.add(_identity(task))
        self._measure(task.kind)
        self._wake()
        return True

    def room(self, kind: Kind) -> int:
        """Return how many texts of a kind may be added."""
        return self._size - len(self._waiting[kind])

    def lengths(self) -> dict[Kind, int]:
        """Return how many texts of each kind wait."""
        return {kind: len(waiting) for kind, waiting in self._waiting.items()}

    def half_empty(self, kind: Kind) -> asyncio.Event:
        """Return an event that is set while at most half of the places of a kind are taken."""
        return self._half_empty[kind]

    async def take(self) -> Task:
        """Return the next text, of the kind that workers have the fewest of; wait while there is none."""
        while (kind := self._next_kind()) is None:
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._wake()
                raise
        task = self._waiting[kind].popleft()
        self._running[kind] += 1
        self._measure(kind)
        return task

    def done(self, task: Task) -> None:
        """Say that a worker is through with a text; it may be added again."""
        self._running[task.kind] -= 1
        self._known.discard(_identity(task))
        self._wake()

    def _next_kind(self) -> Kind | None:
        open_kinds = [
            kind
            for kind, waiting in self._waiting.items()
            if waiting and (kind not in self._limits or self._running[kind] < self._limits[kind])
        ]
        return min(open_kinds, key=self._running.__getitem__, default=None)

    def _measure(self, kind: Kind) -> None:
        length = len(self._waiting[kind])
        QUEUED.labels(kind.lower()).set(length)
        if length * 2 <= self._size:
            self._half_empty[kind].set()
        else:
            self._half_empty[kind].clear()

    def _wake(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return


def _identity(task: Task) -> tuple[str, bytes]:
    return task.key, task.text_hash
