"""HostPermit: the right to have one request to a host under way, and to send it now."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeAlias

from classifeed_common.fetch.permits import Outcome
from classifeed_common.host_limits.rates import HostPolicy, rate_change, spacing_s
from classifeed_common.host_limits.table import HostReport, Reply

Draw: TypeAlias = Callable[[float, HostReport], Awaitable[Reply]]
Send: TypeAlias = Callable[[HostReport], Awaitable[object]]


class HostPermit:
    """A permit of `HostLimits`.

    Args:
        policy: limits of the host.
        draw: function that draws a permit, given the latest time to wait until and a report on the replaced permit.
        send: function that sends a report.
    """

    def __init__(self, policy: HostPolicy, draw: Draw, send: Send) -> None:
        self._policy = policy
        self._draw_one = draw
        self._send = send
        self._reply: Reply | None = None
        self._names: list[int] = []
        self._is_used = False
        self._report = HostReport()
        self._lock = asyncio.Lock()  # a renewal must not overtake a draw, nor the other way round

    async def draw(self) -> None:
        """Draw a permit; see `HostLimits.permit`."""
        await self._draw(asyncio.get_running_loop().time() + self._policy.max_wait_s)

    async def ready(self) -> None:
        """Wait until a request may be sent, which must then happen at once. Replaces an expired permit.

        Call it before each request. A caller who already has a connection to the host may wait for the time of one more
        request of others.

        Raises:
            HostPaused: no permit within that time and `max_wait_s`.
            psycopg.Error: the table cannot be used.
        """
        assert self._reply is not None
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._policy.max_wait_s + spacing_s(self._reply.rate, self._policy)
        while self._is_used or not self._is_fresh(loop.time()):
            await self._draw(until_s)
        self._is_used = True

    def report(self, outcome: Outcome, retry_after_s: float | None = None) -> None:
        """Record the outcome, and the seconds during which the server accepts no requests."""
        assert self._reply is not None
        loop_s = asyncio.get_running_loop().time()
        report = self._report
        report.change = report.change.and_then(rate_change(self._reply.rate, outcome, self._policy))
        report.paused_until_s = max(report.paused_until_s, loop_s + retry_after_s if retry_after_s else 0.0)
        report.counts[outcome] = report.counts.get(outcome, 0) + 1

    def now(self) -> datetime:
        """Return the time by the database's clock."""
        assert self._reply is not None
        return self._reply.at(asyncio.get_running_loop().time())

    async def renew(self) -> None:
        """Extend the permit: replace its possible names by a new one.

        The name is chosen here, so that a renewal whose reply was lost may be repeated.

        Raises:
            psycopg.Error: the table cannot be used; retry soon.
        """
        async with self._lock:
            if not self._names:
                return
            now_us = int(self.now().timestamp() * 1_000_000)
            former = self._names
            name = now_us + int(self._policy.hold_s * 1_000_000) + random.randrange(1000)  # noqa: S311 - no secret
            self._names = [*(each for each in former if each > now_us), name]
            await self._send(HostReport(released=former, added=[name]))
            self._names = [name]

    def give_back(self) -> HostReport:
        """Return the report on the permit."""
        self._report.released += self._names
        self._names = []
        return self._report

    def _is_fresh(self, loop_s: float) -> bool:
        assert self._reply is not None
        return bool(self._names) and loop_s <= self._reply.sent_s + self._policy.send_within_s

    async def _draw(self, until_s: float) -> None:
        async with self._lock:
            former = HostReport()
            if self._names:
                assert self._reply is not None
                former = HostReport(released=self._names, unsent=None if self._is_used else self._reply.sending)
            self._names = []
            try:
                self._reply = await self._draw_one(until_s, former)
            except BaseException:
                self._report.released += former.released  # again: the host's row may not know
                raise
            assert self._reply.permit is not None
            self._names, self._is_used = [self._reply.permit], False
