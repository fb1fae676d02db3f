"""HostPermit: the right to have one request under way to a host, and to send it now."""

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
        policy: bounds of the host.
        draw: draws one, by the time until when to wait, and what is given back for it.
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
        """When it is to be renewed, by the loop's clock; None: not before something else happens."""
        if self._renewal_began_s is not None or not self._names:
            return None
        return self._lasts_since_s + self._policy.renew_s

    async def draw(self) -> None:
        """Draw it, or another one in its place; see `HostLimits.permit`."""
        await self._draw(asyncio.get_running_loop().time() + self._policy.max_wait_s)

    async def ready(self) -> None:
        """Return when a request may be sent, at once; called for each. A permit that has become too old is drawn anew.

        Whoever has come so far, with a connection to the host, waits until one more request of others may have gone.

        Raises:
            HostPaused: not within that time and `max_wait_s`.
            psycopg.Error: the table cannot be had.
        """
        assert self._reply is not None
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._policy.max_wait_s + spacing_s(self._reply.rate, self._policy)
        while self._is_used or not self._is_fresh(loop.time()):
            await self._draw(until_s)
        self._is_used = True

    def report(self, outcome: Outcome, retry_after_s: float | None = None) -> None:
        """Take note of the outcome, and for how long the server wants no requests."""
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
        """Return what makes it last as long as a new one: another name in place of those that it may have.

        Chosen here, so that a renewal whose reply was lost may be sent again. `end_renewal` follows.
        """
        assert self._reply is not None
        now_us = int(self._reply.at(now_s).timestamp() * 1_000_000)
        former = self._names
        name = now_us + int(self._policy.hold_s * 1_000_000) + random.randrange(1000)  # noqa: S311 - no secret
        self._names = [*(each for each in former if each > now_us), name]
        self._renewal_began_s = now_s
        return HostReport(released=former, added=[name])

    def end_renewal(self, *, is_known: bool) -> None:
        """Take note of whether a renewal has come to the table; it may have, where that is not known."""
        began_s, self._renewal_began_s = self._renewal_began_s, None
        if is_known and self._names and began_s is not None:
            self._names, self._lasts_since_s = self._names[-1:], max(self._lasts_since_s, began_s)

    def give_back(self) -> HostReport:
        """Return what is to be reported of it."""
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
