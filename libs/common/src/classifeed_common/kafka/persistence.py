"""Persistence: an attempt is repeated until it succeeds, and the group never notices how long that takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog

from classifeed_common.db import is_passing_fault
from classifeed_common.errors import DomainError
from classifeed_common.kafka import metrics
from classifeed_common.kafka.positions import LogLost, ZombieConsumer
from classifeed_common.kafka.reader import PartitionReader

_log = structlog.get_logger(__name__)

R = TypeVar("R")

_STAY_S: Final = 0.1
_FIRST_BACKOFF_S: Final = 0.05


class Abandoned(Exception):
    """What was being tried is not ours to finish: a rebalance came between, or we are stopping."""


class Persistence:
    """Repeats attempts with capped back-off, for ever; the reader keeps polling with its partitions paused."""

    def __init__(self, reader: PartitionReader, group: str, *, patience_s: float, max_backoff_s: float) -> None:
        """Prepare.

        Args:
            reader: whose membership is kept.
            group: for logs and metrics.
            patience_s: how long one attempt may go on before polling begins beside it.
            max_backoff_s: the longest pause between attempts.
        """
        self._reader = reader
        self._group = group
        self._patience_s = patience_s
        self._max_backoff_s = max_backoff_s

    async def persist(self, attempt: Callable[[], Awaitable[R]], stop: asyncio.Event) -> R:
        """Return what `attempt` returns, as soon as it does. Every failure but the ones below counts as passing.

        Raises:
            Abandoned: the partitions changed hands, or `stop` was set, after a failed attempt.
            ZombieConsumer, LogLost: from the attempt, at once.
        """
        generation = self._reader.generation
        pause_s = _FIRST_BACKOFF_S
        while True:
            try:
                return await self._beside_polling(attempt)
            except (ZombieConsumer, LogLost):
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, skipping the record would lose it
                metrics.BLOCKED.labels(self._group).inc()
                known = pause_s > _FIRST_BACKOFF_S or isinstance(error, DomainError) or is_passing_fault(error)
                _log.warning(
                    "blocked, trying again", group=self._group, pause_s=pause_s, error=repr(error), exc_info=not known
                )
            await self._wait(pause_s, generation, stop)
            pause_s = min(pause_s * 2, self._max_backoff_s)

    async def _beside_polling(self, attempt: Callable[[], Awaitable[R]]) -> R:
        task = asyncio.ensure_future(attempt())
        try:
            done, _ = await asyncio.wait({task}, timeout=self._patience_s)
            while not done:
                await self._reader.stay(_STAY_S)
                done, _ = await asyncio.wait({task}, timeout=self._patience_s)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def _wait(self, pause_s: float, generation: int, stop: asyncio.Event) -> None:
        until = time.monotonic() + pause_s
        while True:
            if stop.is_set() or self._reader.generation != generation:
                raise Abandoned
            left_s = until - time.monotonic()
            if left_s <= 0:
                return
            await self._reader.stay(min(_STAY_S, left_s))
