"""Breaker: circuit breaker that limits requests to one a second while the service is down."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

import structlog

from classifeed_common.clock import Clock
from classifeed_moderation.metrics import BREAKER

_FAILURES: Final = 10
_PROBE_S: Final = 1.0
_log = structlog.get_logger(__name__)


class Breaker:
    """Passes all requests, or one every `probe_s` seconds after `failures` requests in a row have failed.

    After each success, twice as many requests may run at a time, up to `most`. A failed request meanwhile returns
    to one request every `probe_s` seconds. For one event loop.
    """

    def __init__(self, clock: Clock, *, most: int, failures: int = _FAILURES, probe_s: float = _PROBE_S) -> None:
        self._clock = clock
        self._failures_limit = failures
        self._probe_s = probe_s
        self._most = most
        self._failures = 0
        self._limit = most
        self._running = 0
        self._probe_at_s = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests are held back."""
        return self._limit < self._most

    async def enter(self) -> None:
        """Return once a request may be made; `leave` must follow."""
        while not self._may_enter():
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            self._set_timer()
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake(1)
                raise
        self._running += 1
        if self._limit == 0:
            self._probe_at_s = self._clock.monotonic_s() + self._probe_s

    def leave(self, *, succeeded: bool | None) -> None:
        """Report how a request ended; None: it was abandoned, and says nothing about the service."""
        self._running -= 1
        if succeeded:
            self._failures = 0
            if self.is_open:
                self._limit = min(max(self._limit * 2, 1), self._most)
                if self._limit == self._most:
                    _log.info("moderation.breaker.closed")
        elif succeeded is not None:
            self._failures += 1
            if self._failures >= self._failures_limit or self.is_open:
                if not self.is_open:
                    _log.warning("moderation.breaker.opened", failures=self._failures)
                self._limit = 0
                self._probe_at_s = self._clock.monotonic_s() + self._probe_s
        BREAKER.set(self.is_open)
        self._wake(max(self._limit - self._running, 0))

    def _may_enter(self) -> bool:
        if self._limit:
            return self._running < self._limit
        return self._running == 0 and self._clock.monotonic_s() >= self._probe_at_s

    def _wake(self, count: int) -> None:
        while count and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                count -= 1
        if self._waiting and not self._limit:
            self._set_timer()

    def _set_timer(self) -> None:
        if not self._limit and (self._timer is None or self._timer.done()):
            self._timer = asyncio.create_task(self._wake_for_probe())

    async def _wake_for_probe(self) -> None:
        while not self._limit and self._waiting:
            await self._clock.sleep(max(self._probe_at_s - self._clock.monotonic_s(), 0.001))
            if self._may_enter() or self._limit:
                self._wake(1)
