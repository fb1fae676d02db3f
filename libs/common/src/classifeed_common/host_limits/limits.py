"""HostLimits: limits concurrency and rate of requests to a host, over all processes of a service (ADR 0059, 0105)."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import psycopg

from classifeed_common.db import Database
from classifeed_common.fetch.permits import HostPaused
from classifeed_common.host_limits.permit import HostPermit
from classifeed_common.host_limits.rates import HostPolicy, spacing_s
from classifeed_common.host_limits.table import HostReport, HostTable, Reply

# Pauses between attempts while all permits are in use: other processes do not say when they return theirs.
_BUSY_S: Final = 0.1
_LONGEST_BUSY_S: Final = 1.0
_SHORTEST_PAUSE_S: Final = 1.0
_AFTER_FAULT_S: Final = 1.0
# After a fault of the table, processes renew their permits before others draw: permits may have expired meanwhile.
_RENEWALS_FIRST_S: Final = 2.0


class HostLimits:
    """Permits for requests to hosts, from the table `fetch_hosts`; the `permits` of a Fetcher.

    The limits hold over all processes with the same policy. At most `at_a_time` requests to a host are under way. No
    request is sent within the host's `Retry-After`. Requests per second stay within the host's rate, which grows while
    the host responds and falls when it refuses. The database's clock decides. For use in one event loop.

    A process that was paused, or had no database, for longer than `hold_s` may have lost permits while its requests
    continue. It takes them again, so that more than `at_a_time` requests may be under way until these end.

    Args:
        database: database with the table (`ddl("fetch_hosts", …)`); open while permits are in use.
        policy: limits of every host; must be the same in all processes.
    """

    def __init__(self, database: Database, policy: HostPolicy = HostPolicy()) -> None:  # noqa: B008  # frozen
        self._table = HostTable(database, policy)
        self._policy = policy
        # Callers that wait, by host, first come, first served; a returned permit wakes the first one.
        self._waiting: defaultdict[str, deque[asyncio.Event]] = defaultdict(deque)
        self._late_reports: set[asyncio.Task[None]] = set()
        self._is_after_fault = False
        self._draws_from_s = 0.0

    @asynccontextmanager
    async def permit(self, host: str, *, owner: str = "") -> AsyncIterator[HostPermit]:  # noqa: ARG002 - see below
        """Provide a permit for a host, returned when the block ends; waits at most `max_wait_s`.

        The permit is renewed while the block runs. If the process dies, the permit is free after `hold_s`. If the host
        demands a pause (`report`), all processes know of it once the block has ended.

        Args:
            host: name of the host.
            owner: ignored here; see `OwnerLimits`.

        Raises:
            HostPaused: the host is paused, or has so many requests that the wait would be too long.
            psycopg.Error: the table cannot be used; a passing fault.
        """
        permit = HostPermit(self._policy, partial(self._draw, host), partial(self._report, host))
        await permit.draw()
        renewing = asyncio.get_running_loop().create_task(self._keep(permit))
        try:
            yield permit
        finally:
            renewing.cancel()
            await asyncio.wait([renewing])
            await self._give_back(host, permit.give_back())

    async def list_refusing(self, for_s: float, *, wanted_s: float) -> list[str]:
        """Return hosts that have refused all requests for `for_s`, the longest first; at most 1,000.

        A refusal is a response that may concern all requests: 401, 403, 429, 503, no connection, a timeout.

        Args:
            for_s: minimum duration of the refusal, in seconds.
            wanted_s: seconds within which the host must have been requested; others are left out.
        """
        return await self._table.list_refusing(for_s, wanted_s)

    async def close(self) -> None:
        """Drop reports that could not be sent; the permits in them expire."""
        for late in self._late_reports:
            late.cancel()
        await asyncio.gather(*self._late_reports, return_exceptions=True)

    async def _draw(self, host: str, until_s: float, report: HostReport) -> Reply:
        """Return a reply with a permit. A caller who returns one for it goes ahead of the others."""
        loop = asyncio.get_running_loop()
        waiting, turn, busy_s = self._waiting[host], asyncio.Event(), _BUSY_S
        ahead = 0 if report.released else len(waiting)
        waiting.insert(ahead, turn)
        try:
            while True:
                turn.clear()
                is_first = waiting[0] is turn
                reply = await self._request(host, report, wants=is_first)
                report = HostReport()
                if reply.permit is not None:
                    return reply
                due_s = max(reply.pause_s, reply.due_s, self._draws_from_s - loop.time())
                if due_s <= 0:  # all permits are in use, perhaps by other processes
                    due_s, busy_s = busy_s, min(2 * busy_s, _LONGEST_BUSY_S)
                turn_s = due_s + ahead * spacing_s(reply.rate, self._policy)
                if loop.time() + turn_s > until_s:
                    wait_s = max(turn_s, _SHORTEST_PAUSE_S)
                    until = reply.at(loop.time() + wait_s)
                    raise HostPaused(host, wait_s, until, by_retry_after=reply.pause_s > 0)
                with suppress(TimeoutError):
                    async with asyncio.timeout(turn_s if is_first else until_s - loop.time()):
                        await turn.wait()
                ahead = waiting.index(turn)
        finally:
            waiting.remove(turn)
            self._wake(host)
            if not waiting:
                self._waiting.pop(host, None)

    async def _request(self, host: str, report: HostReport, *, wants: bool) -> Reply:
        """Report, and draw a permit if wanted; nothing is drawn just after a fault of the table."""
        loop = asyncio.get_running_loop()
        may_draw = not self._is_after_fault and loop.time() >= self._draws_from_s
        reply = await self._report(host, report, wants=wants and may_draw)
        if self._is_after_fault:
            self._is_after_fault, self._draws_from_s = False, loop.time() + _RENEWALS_FIRST_S
        return reply

    async def _report(self, host: str, report: HostReport, *, wants: bool = False) -> Reply:
        try:
            return await self._table.draw(host, report, wants=wants)
        except psycopg.Error:
            self._is_after_fault = True
            raise

    async def _keep(self, permit: HostPermit) -> None:
        """Renew a permit until the task is cancelled."""
        wait_s = self._policy.renew_s
        while True:
            await asyncio.sleep(wait_s)
            try:
                await permit.renew()
                wait_s = self._policy.renew_s
            except psycopg.Error:
                wait_s = min(_AFTER_FAULT_S, self._policy.renew_s)

    async def _give_back(self, host: str, report: HostReport) -> None:
        """Send the last report on a permit; if the table cannot be used, without keeping the caller waiting."""
        try:
            await self._report(host, report)
        except psycopg.Error:
            late = asyncio.get_running_loop().create_task(self._give_back_late(host, report))
            self._late_reports.add(late)
            late.add_done_callback(self._late_reports.discard)
        else:
            self._wake(host)

    async def _give_back_late(self, host: str, report: HostReport) -> None:
        while True:
            await asyncio.sleep(_AFTER_FAULT_S)
            with suppress(psycopg.Error):
                await self._report(host, report)
                self._wake(host)
                return

    def _wake(self, host: str) -> None:
        """Have the first waiting caller of a host try again."""
        if self._waiting.get(host):
            self._waiting[host][0].set()
