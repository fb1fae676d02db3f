"""HostQueue: who waits in this process for permits of one host, and what is to be reported of it."""

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
        until_s: How long it may wait, by the loop's clock.
        drawn: Its permit.
    """

    until_s: float
    drawn: asyncio.Future[Reply]


@dataclass(eq=False, slots=True)
class HostQueue:
    """The callers of one host, first come, first served.

    Attributes:
        host: Its name.
        policy: Its bounds.
        waiters: The callers.
        report: What the next round reports.
        renewing: Permits that it renews.
        reported: Done with the round that reports it.
        due_s: When it is worth while to ask again, by the loop's clock.
        is_busy: Whether that is a guess: all permits are given, and whoever gives one back does not say when.
        reply: The last one.
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
        """Return whether there is nothing to request or to report."""
        return not self.waiters and self.report.is_empty()

    def request(self, now_s: float, *, may_draw: bool) -> DrawRequest | None:
        """Return what to request now, or None. What it reports is taken out of `report`."""
        wants = may_draw and bool(self.waiters) and self.due_s <= now_s
        if not wants and self.report.is_empty():
            return None
        request = DrawRequest(self.report, wants)
        self.report = HostReport()
        return request

    def take_back(self, report: HostReport) -> None:
        """Report later what could not be reported now."""
        report.add(self.report)
        self.report = report

    def give_back(self, report: HostReport, now_s: float) -> None:
        """Report what became of a permit; if all were given, or it had the last time and was not used, draw at once."""
        self.report.add(report)
        had_the_last = report.unsent is not None and self.reply is not None and report.unsent == self.reply.sending
        if self.is_busy or had_the_last:
            self.due_s = now_s

    def renew(self, permit: HostPermit, now_s: float) -> None:
        """Renew a permit with the next round."""
        self.report.add(permit.renew(now_s))
        self.renewing.append(permit)

    def end_renewals(self, *, are_known: bool) -> None:
        """Take note of whether the round has come to the table."""
        for permit in self.renewing:
            permit.end_renewal(is_known=are_known)
        self.renewing.clear()

    def settle(self, request: DrawRequest, reply: Reply, now_s: float) -> None:
        """Give the permit to the first that waits, and note when it is worth while to ask again."""
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
        """Notify those whose time will not suffice, as far as is known, when their permit would have come."""
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
        """Notify all who wait that there are no permits."""
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
        self.report.add(reply.unused())  # whoever wanted it has given up
