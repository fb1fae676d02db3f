"""HostLimits: limits concurrency and rate of requests to a host, over all processes of a service (ADR 0059)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import psycopg

from classifeed_common.db import Database
from classifeed_common.host_limits.draws import DrawRequest, HostReport, HostTable, Reply
from classifeed_common.host_limits.permit import HostPermit
from classifeed_common.host_limits.queue import HostQueue, Waiter
from classifeed_common.host_limits.rates import HostPolicy

_HOSTS_PER_ROUND: Final = 200
_AFTER_FAULT_S: Final = 1.0
# After a fault of the table, processes renew their permits before others draw: permits may have expired meanwhile.
_RENEWALS_FIRST_S: Final = 2.0


class HostLimits:
    """Permits for requests to hosts, from the table `fetch_hosts`; the `permits` of a Fetcher.

    The limits hold over all processes with the same policy. At most `at_a_time` requests to a host are under way. No
    request is sent within the host's `Retry-After`. Requests per second stay within the host's rate, which grows while
    the host responds and falls when it refuses. The database's clock decides. One statement at a time draws permits for
    all hosts that are due. For use in one event loop.

    A process that was paused, or had no database, for longer than `hold_s` may have lost permits while its requests
    continue. It takes them again, so that more than `at_a_time` requests may be under way until these end.

    Args:
        database: database with the table (`ddl("fetch_hosts", …)`); open while permits are in use.
        policy: limits of every host; must be the same in all processes.
    """

    def __init__(self, database: Database, policy: HostPolicy = HostPolicy()) -> None:  # noqa: B008  # frozen
        self._table = HostTable(database, policy)
        self._policy = policy
        self._queues: dict[str, HostQueue] = {}
        self._in_use: dict[HostPermit, str] = {}
        self._wakes = asyncio.Event()
        self._rounds: asyncio.Task[None] | None = None
        self._not_before_s = 0.0
        self._is_after_fault = False
        self._draws_from_s = 0.0
        self._is_closing = False

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
        permit = HostPermit(self._policy, partial(self._draw, host))
        await permit.draw()
        self._in_use[permit] = host
        try:
            yield permit
        finally:
            del self._in_use[permit]
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
        """Report what was used. Callers that still wait get an error."""
        self._is_closing = True
        self._wakes.set()
        if self._rounds is not None:
            await self._rounds

    async def _draw(self, host: str, until_s: float, former: HostReport | None) -> Reply:
        """Return a reply with a permit. A caller who returns a permit for it goes ahead of other waiters."""
        waiter = Waiter(until_s, asyncio.get_running_loop().create_future())
        queue = self._queue(host)
        if former is None:
            queue.waiters.append(waiter)
        else:
            queue.waiters.appendleft(waiter)
            queue.give_back(former, asyncio.get_running_loop().time())
        self._wakes.set()
        try:
            return await waiter.drawn
        except asyncio.CancelledError:
            if waiter.drawn.done() and not waiter.drawn.cancelled() and waiter.drawn.exception() is None:
                self._queue(host).give_back(waiter.drawn.result().unused(), asyncio.get_running_loop().time())
                self._wakes.set()
            raise
        finally:
            with suppress(ValueError):
                queue.waiters.remove(waiter)

    async def _give_back(self, host: str, report: HostReport) -> None:
        if report.is_empty() or (self._is_closing and (self._rounds is None or self._rounds.done())):
            return  # too late to report: the permit expires
        loop = asyncio.get_running_loop()
        queue = self._queue(host)
        queue.give_back(report, loop.time())
        self._wakes.set()
        if report.paused_until_s:
            reported: asyncio.Future[None] = loop.create_future()
            queue.reported.append(reported)
            await reported

    def _queue(self, host: str) -> HostQueue:
        if self._rounds is None or self._rounds.done():
            if self._is_closing:
                raise RuntimeError("the limits of hosts are closed; give no permits after that")
            self._rounds = asyncio.get_running_loop().create_task(self._run())
        if host not in self._queues:
            self._queues[host] = HostQueue(host, self._policy)
        return self._queues[host]

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        error: BaseException = RuntimeError("the limits of hosts are closed")
        try:
            while not (self._is_closing and all(queue.report.is_empty() for queue in self._queues.values())):
                self._wakes.clear()
                if loop.time() >= self._not_before_s and (requests := self._requests(loop.time())):
                    await self._round(requests)
                    continue
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(self._next_s(loop.time())):
                        await self._wakes.wait()
        except BaseException as unexpected:
            error = unexpected
            raise
        finally:
            for queue in self._queues.values():
                queue.fail(error)
                _end(queue.reported)

    def _requests(self, now_s: float) -> dict[str, DrawRequest]:
        requests: dict[str, DrawRequest] = {}
        self._renew(now_s)
        may_draw = not self._is_after_fault and now_s >= self._draws_from_s
        for host, queue in list(self._queues.items()):
            queue.refuse(now_s)
            if queue.is_idle():
                del self._queues[host]
            elif len(requests) < _HOSTS_PER_ROUND and (request := queue.request(now_s, may_draw=may_draw)) is not None:
                requests[host] = request
        if self._is_after_fault and self._queues and not requests:
            requests[next(iter(self._queues))] = DrawRequest(HostReport(), wants=False)
        return requests

    def _renew(self, now_s: float) -> None:
        if self._is_closing:
            return
        for permit, host in self._in_use.items():
            if permit.renewal_s is not None and permit.renewal_s <= now_s:
                self._queue(host).renew(permit, now_s)

    async def _round(self, requests: Mapping[str, DrawRequest]) -> None:
        loop = asyncio.get_running_loop()
        reported = {host: self._queues[host].reported for host in requests}
        for host in requests:
            self._queues[host].reported = []
        try:
            replies = await self._table.draw(requests)
        except psycopg.Error as error:
            for host, request in requests.items():
                self._queues[host].take_back(request.report)
                self._queues[host].end_renewals(are_known=False)
            for queue in self._queues.values():
                queue.fail(error)
            if self._is_closing:
                self._queues.clear()  # permits that were not returned expire
            self._not_before_s, self._is_after_fault = loop.time() + _AFTER_FAULT_S, True
            return
        finally:
            for futures in reported.values():
                _end(futures)
        if self._is_after_fault:
            self._is_after_fault, self._draws_from_s = False, loop.time() + _RENEWALS_FIRST_S
        for host, request in requests.items():
            queue = self._queues[host]
            queue.end_renewals(are_known=host in replies)
            if host in replies:
                queue.settle(request, replies[host], loop.time())
            else:
                queue.take_back(request.report)
        # Hosts that were served go to the end of the order.
        for host in requests:
            self._queues[host] = self._queues.pop(host)

    def _next_s(self, now_s: float) -> float:
        """Return the time of the next round without new calls; later draws count too."""
        moments = [max(queue.due_s, self._draws_from_s) for queue in self._queues.values() if queue.waiters]
        moments += [0.0 for queue in self._queues.values() if not queue.report.is_empty()]
        moments += [permit.renewal_s for permit in self._in_use if permit.renewal_s is not None]
        return max(min([*moments, now_s + self._policy.renew_s]), self._not_before_s)


def _end(futures: Iterable[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
