"""Attempts: runs long work while polling keeps the group membership, and repeats work that everything depends on."""

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
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry import metrics
from classifeed_common.telemetry.fault_log import log_fault

_log = structlog.get_logger(__name__)

R = TypeVar("R")

_STAY_S: Final = 0.1
FIRST_PAUSE_S: Final = 0.05


class Abandoned(Exception):
    """The attempt is obsolete: a rebalance happened meanwhile, or the consumer is stopping."""


class Attempts:
    """Runs attempts of any length: the reader keeps polling, with its partitions paused.

    Attributes:
        under_way_since_s: start of the present attempt, by the monotonic clock; None between attempts.
        fault: error of the last repeated attempt; empty if it succeeded.
    """

    def __init__(self, reader: PartitionReader, group: str, *, quick_s: float, max_pause_s: float) -> None:
        """Prepare.

        Args:
            reader: reader whose membership is kept.
            group: consumer group, for logs and metrics.
            quick_s: seconds of an attempt before polling begins in parallel.
            max_pause_s: longest pause between repeated attempts, in seconds.
        """
        self._reader = reader
        self._group = group
        self._quick_s = quick_s
        self._max_pause_s = max_pause_s
        self.under_way_since_s: float | None = None
        self.fault = ""

    async def once(self, attempt: Callable[[], Awaitable[R]]) -> R:
        """Run `attempt` for any time; return its result, or raise its exception."""
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
        """Repeat `attempt` until it succeeds, and return its result. All errors but those below are retried.

        Raises:
            Abandoned: the assignment changed, or `stop` was set, after a failed attempt.
            ZombieConsumer, LogLost: raised by the attempt, at once.
        """
        generation = self._reader.generation
        backoff = Backoff(FIRST_PAUSE_S, self._max_pause_s)
        while True:
            try:
                result = await self.once(attempt)
            except (ZombieConsumer, LogLost, *INTERRUPTIONS):
                raise
            except BaseException as error:  # noqa: BLE001 - nothing can be read without it: any error is retried
                pause_s = backoff.next_s()
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
    """Return whether an error comes from a server or network that all records need, and not from one record."""
    return isinstance(error, Unavailable) or is_passing_fault(error)
