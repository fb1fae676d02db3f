"""TaskQueue: texts that wait in memory for a worker, by kind, so that one kind does not delay another."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from classifeed_moderation.domain.subjects import Kind, Task
from classifeed_moderation.metrics import DROPPED, QUEUED

_BATCH_CHARACTERS: Final = 100_000


class TaskQueue:
    """Bounded queue for each kind. A text is in it once, from `put` to `done`. For one event loop.

    It has room only from `open` to `close`, while there are workers, because other processes skip texts queued here.

    Args:
        size: maximum waiting texts of a kind.
        limits: maximum texts of a kind that workers process concurrently; other kinds have no limit.
        batches: maximum texts of a kind that a worker takes together; one of other kinds.
    """

    def __init__(
        self, size: int, limits: Mapping[Kind, int] | None = None, batches: Mapping[Kind, int] | None = None
    ) -> None:
        self._size = size
        self._is_open = False
        self._limits = dict(limits or {})
        self._batches = dict(batches or {})
        self._waiting: dict[Kind, deque[Task]] = {kind: deque() for kind in Kind}
        self._running: dict[Kind, int] = dict.fromkeys(Kind, 0)
        self._known: set[tuple[str, bytes]] = set()
        self._takers: deque[asyncio.Future[None]] = deque()
        self._half_empty = {kind: asyncio.Event() for kind in Kind}
        for kind in Kind:
            self._measure(kind)

    @property
    def is_open(self) -> bool:
        """Whether there are workers."""
        return self._is_open

    def open(self) -> None:
        """Open the queue: workers begin."""
        self._set_open(True)

    def close(self) -> None:
        """Close the queue: the workers end, and it has no more room."""
        self._set_open(False)

    def put(self, task: Task) -> None:
        """Add a text without waiting; if the queue has workers but no room, the text is dropped and counted."""
        if not self._is_open or _identity(task) in self._known:
            return
        if self.room(task.kind):
            self._add([task])
        else:
            DROPPED.labels(task.kind.lower()).inc()

    def put_all(self, tasks: Collection[Task]) -> None:
        """Add texts of one kind for which there was room, even if other texts were added since then."""
        if unknown := [task for task in tasks if _identity(task) not in self._known]:
            self._add(unknown)

    def room(self, kind: Kind) -> int:
        """Return how many texts of a kind may be added."""
        return self._room(kind, self._size)

    def room_for_new(self, kind: Kind) -> int:
        """Return how many texts of a kind that were never due may be added: half of the room is for due texts."""
        return self._room(kind, self._size // 2)

    def lengths(self) -> dict[Kind, int]:
        """Return the number of waiting texts of each kind."""
        return {kind: len(waiting) for kind, waiting in self._waiting.items()}

    def half_empty(self, kind: Kind) -> asyncio.Event:
        """Return an event that is set while the queue is open and at most half full for a kind."""
        return self._half_empty[kind]

    async def take(self) -> list[Task]:
        """Return the next texts, of the kind with the fewest texts in progress; wait while there is none."""
        while (kind := self._next_kind()) is None:
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._wake()
                raise
        waiting = self._waiting[kind]
        most = min(self._batches.get(kind, 1), self._limits.get(kind, len(waiting)) - self._running[kind])
        tasks = [waiting.popleft()]
        characters = len(tasks[0].text)
        while waiting and len(tasks) < most and characters + len(waiting[0].text) <= _BATCH_CHARACTERS:
            tasks.append(waiting.popleft())
            characters += len(tasks[-1].text)
        self._running[kind] += len(tasks)
        self._measure(kind)
        self._wake()
        return tasks

    def done(self, tasks: Sequence[Task]) -> None:
        """Mark texts that a worker took together as done; they may be added again."""
        self._running[tasks[0].kind] -= len(tasks)
        self._known.difference_update(map(_identity, tasks))
        self._wake()

    def _set_open(self, is_open: bool) -> None:
        self._is_open = is_open
        for kind in Kind:
            self._measure(kind)

    def _room(self, kind: Kind, size: int) -> int:
        return max(size - len(self._waiting[kind]), 0) if self._is_open else 0

    def _add(self, tasks: Sequence[Task]) -> None:
        kind = tasks[0].kind
        self._waiting[kind].extend(tasks)
        self._known.update(map(_identity, tasks))
        self._measure(kind)
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
        if self._is_open and length * 2 <= self._size:
            self._half_empty[kind].set()
        else:
            self._half_empty[kind].clear()

    def _wake(self) -> None:
        """Wake one taker if there is a text for it; after taking, it wakes the next one."""
        while self._takers and self._next_kind() is not None:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return


def _identity(task: Task) -> tuple[str, bytes]:
    return task.key, task.text_hash
