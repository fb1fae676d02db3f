"""Attempts: work of any length beside the polling that keeps the membership; repeated where all waits for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog

from classifeed_common.db import is_passing_fault
from classifeed_common.errors import Unavailable, describe_fault
from classifeed_common.faults.interruptions import INTERRUPTIONS
from classifeed_common.kafka.consuming.reader import PartitionReader
from classifeed_common.kafka.positions import LogLost, ZombieConsumer
from classifeed_common.telemetry import metrics
from classifeed_common.telemetry.fault_log import log_fault

_log = structlog.get_logger(__name__)

R = TypeVar("R")

_STAY_S: Final = 0.1
FIRST_PAUSE_S: Final = 0.05


class Abandoned(Exception):
    """What was being tried is not ours to finish: a rebalance came between, or we are stopping."""


class Attempts:
    """Makes attempts that may take long: the reader keeps polling, with its partitions paused.

    Attributes:
        under_way_since_s: when the present attempt began, by the monotonic clock; None between attempts.
        fault: why the last of the repeated attempts failed; empty when it did not.
    """

    def __init__(self, reader: PartitionReader, group: str, *, quick_s: float, max_pause_s: float) -> None:
        """Prepare.

        Args:
            reader: whose membership is kept.
            group: for logs and metrics.
            quick_s: how long one attempt may go on before polling begins beside it.
            max_pause_s: the longest pause between repeated attempts.
        """
        self._reader = reader
        self._group = group
        self._quick_s = quick_s
        self._max_pause_s = max_pause_s
        self.under_way_since_s: float | None = None
        self.fault = ""

    async def once(self, attempt: Callable[[], Awaitable[R]]) -> R:
        """Return what `attempt` returns, or raise what it raises, however long it takes."""
        self.under_way_since_s = time.monotonic()
        task = asyncio.ensure_future(attempt())
        try:
            done, _ = await asyncio.wait({task}, timeout=self._quick_s)
            while not done:
                await self._reader.stay(_STAY_S)
                done, _ = await asyncio.wait({task}, timeout=self._quick_s)
            return task.result()
        finally:
            self.under_way_since_s = None
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def repeat(self, attempt: Callable[[], Awaitable[R]], stop: asyncio.Event) -> R:
        """Return what `attempt` returns, as soon as it does. Every failure but the ones below counts as passing.

        Raises:
            Abandoned: the partitions changed hands, or `stop` was set, after a failed attempt.
            ZombieConsumer, LogLost: from the attempt, at once.
        """
        generation = self._reader.generation
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                result = await self.once(attempt)
            except (ZombieConsumer, LogLost, *INTERRUPTIONS):
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, nothing can be read without it
                metrics.BLOCKED.labels(self._group).inc()
                self.fault = describe_fault(error)
                is_repeated = pause_s > FIRST_PAUSE_S
                log_fault(
                    _log, "consumer.blocked", error, retry_in_s=pause_s, is_repeated=is_repeated, group=self._group
                )
            else:
                self.fault = ""
                return result
            await self._wait(pause_s, generation, stop)
            pause_s = min(pause_s * 2, self._max_pause_s)

    async def _wait(self, pause_s: float, generation: int, stop: asyncio.Event) -> None:
        until = time.monotonic() + pause_s
        while True:
            if stop.is_set() or self._reader.generation != generation:
                raise Abandoned
            left_s = until - time.monotonic()
            if left_s <= 0:
                return
            await self._reader.stay(min(_STAY_S, left_s))


def is_of_the_surroundings(error: BaseException) -> bool:
    """Say whether a fault is that of a server or network that everything needs, rather than of one record."""
    return isinstance(error, Unavailable) or is_passing_fault(error)
