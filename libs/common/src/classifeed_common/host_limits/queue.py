"""HostQueue: the callers of this process that wait for permits of one host, and the next report on it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from classifeed_common.fetch.permits import HostPaused
from classifeed_common.host_limits.draws import DrawRequest, HostReport, Reply
from classifeed_common.host_limits.permit import HostPermit
from classifeed_common.host_limits.rates import HostPolicy, spacing_s

_BUSY_S: Final = 0.1
_SHORTEST_PAUSE_S: Final = 1.0


@dataclass(eq=False, slots=True)
class Waiter:
    """A caller that waits for a permit.

    Attributes:
        until_s: latest time to wait until, by the loop's clock.
        drawn: future of the reply with its permit.
    """

    until_s: float
    drawn: asyncio.Future[Reply]


@dataclass(eq=False, slots=True)
class HostQueue:
    """The waiting callers of one host, first come, first served.

    Attributes:
        host: name of the host.
        policy: limits of the host.
        waiters: waiting callers.
        report: report of the next round.
        renewing: permits that the next round renews.
        reported: futures that are done with the round of this report.
        due_s: time of the next useful draw, by the loop's clock.
        is_busy: whether `due_s` is a guess, because all permits are in use and the time of a return is unknown.
        reply: last reply.
    """

    host: str
    policy: HostPolicy
    waiters: deque[Waiter] = field(default_factory=deque)
    report: HostReport = field(default_factory=HostReport)
    renewing: list[HostPermit] = field(default_factory=list)
    reported: list[asyncio.Future[None]] = field(default_factory=list)
    due_s: float = 0.0
    is_busy: bool = False
    reply: Reply | None = None

    def is_idle(self) -> bool:
        """Return whether there is nothing to draw or to report."""
        return not self.waiters and self.report.is_empty()

    def request(self, now_s: float, *, may_draw: bool) -> DrawRequest | None:
        """Return the request of the next round, or None. Moves `report` into it."""
        wants = may_draw and bool(self.waiters) and self.due_s <= now_s
        if not wants and self.report.is_empty():
            return None
        request = DrawRequest(self.report, wants)
        self.report = HostReport()
        return request

    def take_back(self, report: HostReport) -> None:
        """Put a report that could not be sent in front of the next one."""
        report.add(self.report)
        self.report = report

    def give_back(self, report: HostReport, now_s: float) -> None:
        """Report a returned permit. Draw at once if all were in use, or if this was the last drawn and is unused."""
        self.report.add(report)
        had_the_last = report.unsent is not None and self.reply is not None and report.unsent == self.reply.sending
        if self.is_busy or had_the_last:
            self.due_s = now_s

    def renew(self, permit: HostPermit, now_s: float) -> None:
        """Renew a permit in the next round."""
        self.report.add(permit.renew(now_s))
        self.renewing.append(permit)

    def end_renewals(self, *, are_known: bool) -> None:
        """Record whether the round has reached the table."""
        for permit in self.renewing:
            permit.end_renewal(is_known=are_known)
        self.renewing.clear()

    def settle(self, request: DrawRequest, reply: Reply, now_s: float) -> None:
        """Give the permit to the first waiter, and set the time of the next useful draw."""
        self.reply, self.is_busy = reply, False
        if reply.permit is not None:
            self._hand_on(reply)
            self.due_s = now_s + spacing_s(reply.rate, self.policy)
        elif reply.pause_s or reply.due_s:
            self.due_s = now_s + max(reply.pause_s, reply.due_s)
        elif request.wants:
            self.due_s, self.is_busy = now_s + _BUSY_S, True
        else:
            self.due_s = now_s

    def refuse(self, now_s: float) -> None:
        """Refuse waiters whose permit, as far as is known, would come too late."""
        if self.reply is None:
            return
        at_s = max(self.due_s, now_s)
        for waiter in list(self.waiters):
            if waiter.until_s < at_s:
                wait_s = max(at_s - now_s, _SHORTEST_PAUSE_S)
                self.waiters.remove(waiter)
                if not waiter.drawn.done():
                    until, by_retry_after = self.reply.at(now_s + wait_s), self.reply.pause_s > 0
                    waiter.drawn.set_exception(HostPaused(self.host, wait_s, until, by_retry_after=by_retry_after))
            at_s += spacing_s(self.reply.rate, self.policy)

    def fail(self, error: BaseException) -> None:
        """Fail all waiters."""
        while self.waiters:
            drawn = self.waiters.popleft().drawn
            if not drawn.done():
                drawn.set_exception(error)

    def _hand_on(self, reply: Reply) -> None:
        while self.waiters:
            drawn = self.waiters.popleft().drawn
            if not drawn.done():
                drawn.set_result(reply)
                return
        self.report.add(reply.unused())  # its waiter has given up
