"""HostPermit: the right to have one request under way to a host, and to send it now."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeAlias

from classifeed_common.fetch.permits import Outcome
from classifeed_common.host_limits.draws import HostReport, Reply
from classifeed_common.host_limits.rates import HostPolicy, rate_change

Draw: TypeAlias = Callable[[float, int | None], Awaitable[Reply]]


class HostPermit:
    """A permit of `HostLimits`.

    Args:
        policy: bounds of the host.
        draw: draws one, by the time until when to wait, and the permit that is given back for it.
    """

    def __init__(self, policy: HostPolicy, draw: Draw) -> None:
        self._policy = policy
        self._draw_one = draw
        self._reply: Reply | None = None
        self._permit: int | None = None
        self._is_used = False
        self._report = HostReport()
        self._lasts_since_s = 0.0

    @property
    def number(self) -> int | None:
        """What the table calls it; None: there is none for now."""
        return self._permit

    @property
    def renewal_s(self) -> float:
        """When it is to be renewed, by the loop's clock."""
        return self._lasts_since_s + self._policy.renew_s

    async def draw(self) -> None:
        """Draw it, or another one in its place; see `HostLimits.permit`."""
        until_s = asyncio.get_running_loop().time() + self._policy.max_wait_s
        await self._draw(until_s)

    async def ready(self) -> None:
        """Return when a request may be sent, at once; called for each. A permit that has become too old is renewed.

        Raises:
            HostPaused: not within `max_wait_s`.
            psycopg.Error: the table cannot be had.
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._policy.max_wait_s
        while self._is_used or not self._is_fresh(loop.time()):
            await self._draw(until_s)
        self._is_used = True

    def report(self, outcome: Outcome, retry_after_s: float | None = None) -> None:
        """Take note of the outcome, and for how long the server asks to be left alone."""
        assert self._reply is not None
        loop_s = asyncio.get_running_loop().time()
        change = rate_change(self._reply.rate, outcome, self._policy)
        paused_until_s = loop_s + retry_after_s if retry_after_s else 0.0
        self._report.add(HostReport([], change, paused_until_s, {outcome: 1}))

    def now(self) -> datetime:
        """Return the time by the database's clock."""
        assert self._reply is not None
        return self._reply.at(asyncio.get_running_loop().time())

    def renew(self, number: int, sent_s: float) -> None:
        """Take note of a renewal, and of when it was requested."""
        self._permit, self._lasts_since_s = number, sent_s

    def give_back(self) -> HostReport:
        """Return what is to be reported of it."""
        if self._permit is not None:
            self._report.released.append(self._permit)
            self._permit = None
        return self._report

    def _is_fresh(self, loop_s: float) -> bool:
        assert self._reply is not None
        return self._permit is not None and loop_s <= self._reply.sent_s + self._policy.send_within_s

    async def _draw(self, until_s: float) -> None:
        former, self._permit = self._permit, None
        self._reply = await self._draw_one(until_s, former)
        self._permit, self._lasts_since_s, self._is_used = self._reply.permit, self._reply.sent_s, False
