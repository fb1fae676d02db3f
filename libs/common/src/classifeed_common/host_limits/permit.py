"""HostPermit: the right to have one request to a host under way, and to send it now."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeAlias

from classifeed_common.fetch.permits import Outcome
from classifeed_common.host_limits.draws import HostReport, Reply
from classifeed_common.host_limits.rates import HostPolicy, rate_change, spacing_s

Draw: TypeAlias = Callable[[float, HostReport | None], Awaitable[Reply]]


class HostPermit:
    """A permit of `HostLimits`.

    Args:
        policy: limits of the host.
        draw: function that draws a permit, given the latest time to wait until and a report of the returned permit.
    """

    def __init__(self, policy: HostPolicy, draw: Draw) -> None:
        self._policy = policy
        self._draw_one = draw
        self._reply: Reply | None = None
        self._names: list[int] = []
        self._is_used = False
        self._report = HostReport()
        self._lasts_since_s = 0.0
        self._renewal_began_s: float | None = None

    @property
    def renewal_s(self) -> float | None:
        """Time of the next renewal, by the loop's clock; None: none is due."""
        if self._renewal_began_s is not None or not self._names:
            return None
        return self._lasts_since_s + self._policy.renew_s

    async def draw(self) -> None:
        """Draw a permit, or a replacement; see `HostLimits.permit`."""
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
        change = rate_change(self._reply.rate, outcome, self._policy)
        paused_until_s = loop_s + retry_after_s if retry_after_s else 0.0
        self._report.add(HostReport(change=change, paused_until_s=paused_until_s, counts={outcome: 1}))

    def now(self) -> datetime:
        """Return the time by the database's clock."""
        assert self._reply is not None
        return self._reply.at(asyncio.get_running_loop().time())

    def renew(self, now_s: float) -> HostReport:
        """Return a report that extends the permit: it replaces the permit's possible names by a new one.

        The name is chosen here, so that a renewal whose reply was lost may be repeated. Call `end_renewal` after it.
        """
        assert self._reply is not None
        now_us = int(self._reply.at(now_s).timestamp() * 1_000_000)
        former = self._names
        name = now_us + int(self._policy.hold_s * 1_000_000) + random.randrange(1000)  # noqa: S311 - no secret
        self._names = [*(each for each in former if each > now_us), name]
        self._renewal_began_s = now_s
        return HostReport(released=former, added=[name])

    def end_renewal(self, *, is_known: bool) -> None:
        """Record the end of a renewal, and whether it has reached the table for certain."""
        began_s, self._renewal_began_s = self._renewal_began_s, None
        if is_known and self._names and began_s is not None:
            self._names, self._lasts_since_s = self._names[-1:], max(self._lasts_since_s, began_s)

    def give_back(self) -> HostReport:
        """Return the report on the permit."""
        self._report.released += self._names
        self._names = []
        return self._report

    def _is_fresh(self, loop_s: float) -> bool:
        assert self._reply is not None
        return bool(self._names) and loop_s <= self._reply.sent_s + self._policy.send_within_s

    async def _draw(self, until_s: float) -> None:
        former: HostReport | None = None
        if self._names:
            assert self._reply is not None
            former = HostReport(released=self._names, unsent=None if self._is_used else self._reply.sending)
            self._names = []
        self._reply = await self._draw_one(until_s, former)
        assert self._reply.permit is not None
        self._names, self._lasts_since_s, self._is_used = [self._reply.permit], self._reply.sent_s, False
