"""Download: one download from its URL, over redirects, to the disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from classifeed_common.fetch.addresses.guard import AddressGuard
from classifeed_common.fetch.addresses.networks import Address
from classifeed_common.fetch.connecting.connections import Connections
from classifeed_common.fetch.exchanging.exchange import Exchange, Progress
from classifeed_common.fetch.exchanging.headers import check_secrets, headers_for, is_conditional, sendable
from classifeed_common.fetch.exchanging.redirects import Redirects
from classifeed_common.fetch.exchanging.responses import Head, refusal
from classifeed_common.fetch.failed import FetchFailed
from classifeed_common.fetch.models import Fetched, FetchLimits, FetchRequest, NotModified
from classifeed_common.fetch.permits import HostPermits, NoPermit, Outcome, Permit, outcome_of


class _KeptOneLost(Exception):
    """A kept connection ended before any byte of a response: the peer had closed it meanwhile."""


@dataclass(frozen=True, slots=True)
class Means:
    """Objects that all downloads of a fetcher share.

    Attributes:
        guard: checks which addresses may be dialled.
        connections: connections to these addresses.
        permits: limits of requests to a host, over all processes; None: no limits.
        user_agent: value of the header User-Agent.
    """

    guard: AddressGuard
    connections: Connections
    permits: HostPermits | None
    user_agent: str


class Download:
    """One download; `run` it once.

    Attributes:
        progress: status and bytes received so far.
        way: redirects so far, with the current URL.

    Raises:
        FetchFailed: the URL or the secrets are refused.
    """

    def __init__(self, means: Means, request: FetchRequest, to: Path, limits: FetchLimits) -> None:
        check_secrets(request)
        self._means = means
        self._request = request
        self._to = to
        self._limits = limits
        self.progress = Progress()
        self.way = Redirects(
            means.guard.check_url(request.url),
            limit=limits.redirects,
            has_secrets=bool(request.headers or request.basic_auth),
        )

    @property
    def host(self) -> str:
        """The host of the current URL."""
        return self.way.link.host

    async def run(self) -> Fetched | NotModified:
        """Download; see `Fetcher.fetch`."""
        try:
            async with asyncio.timeout(self._limits.total_s) as clock:
                while True:
                    async with self._permit(clock) as permit:
                        outcome = await self._ask_host(permit, clock)
                    if outcome is not None:
                        return outcome
        except TimeoutError as error:
            shown, total_s = self.way.link.shown, self._limits.total_s
            raise FetchFailed("TOTAL_TIMEOUT", f"{shown} was not downloaded within {total_s:g} s") from error

    async def _ask_host(self, permit: Permit, clock: asyncio.Timeout) -> Fetched | NotModified | None:
        """Request from the current host, following redirects within it; None: a redirect leads to another host."""
        host = self.host
        outcome = None
        while outcome is None and self.host == host:
            outcome = await self._ask(permit, clock)
            permit.report(Outcome.OK)
        return outcome

    @asynccontextmanager
    async def _permit(self, clock: asyncio.Timeout) -> AsyncIterator[Permit]:
        """Wait for the host's permit with the clock stopped: the server is not to blame for our queue."""
        permits = self._means.permits
        permit: Permit = NoPermit()
        async with AsyncExitStack() as stack:
            if permits is not None:
                with _stopped(clock):
                    wanted = permits.permit(self.way.link.host, owner=self._request.owner)
                    permit = await stack.enter_async_context(wanted)
            try:
                yield permit
            except FetchFailed as failed:
                permit.report(outcome_of(failed.code), failed.retry_after_s)
                raise
            except asyncio.CancelledError:
                if clock.expired():
                    permit.report(Outcome.SLOW_DOWN)
                raise

    async def _ask(self, permit: Permit, clock: asyncio.Timeout) -> Fetched | NotModified | None:
        """Request the current URL; None after a redirect, which was followed."""
        addresses = await self._resolve()
        try:
            return await self._ask_one_of(addresses, permit, clock)
        except _KeptOneLost:
            return await self._ask_one_of(addresses, permit, clock, fresh=True)

    async def _ask_one_of(
        self, addresses: Sequence[Address], permit: Permit, clock: asyncio.Timeout, *, fresh: bool = False
    ) -> Fetched | NotModified | None:
        link, means = self.way.link, self._means
        headers = headers_for(
            link,
            self._request,
            user_agent=means.user_agent,
            with_secrets=self.way.with_secrets,
            keep=means.connections.are_kept,
        )
        async with means.connections.connection(link, addresses, self._limits, fresh=fresh) as connection:
            exchange = Exchange(connection.stream, link, self._limits)
            with _stopped(clock):
                await permit.ready()
            try:
                head = await exchange.send(headers)
            except FetchFailed as failed:
                if connection.was_kept and failed.code == "CONNECTION_LOST" and not exchange.has_begun_to_come:
                    raise _KeptOneLost from failed
                raise
            self.progress.http_status, self.progress.bytes_received = head.status, 0
            outcome = await self._judge(exchange, head, permit)
            connection.may_serve_again = await exchange.end(head)
        return outcome

    async def _judge(self, exchange: Exchange, head: Head, permit: Permit) -> Fetched | NotModified | None:
        way, request = self.way, self._request
        link = way.link
        etag, last_modified = sendable(head.headers.get("etag", "")), sendable(head.headers.get("last-modified", ""))
        cache_control, robots_tag = head.headers.get("cache-control", ""), head.headers.get("x-robots-tag", "")
        if head.is_redirect:
            way.follow(head, self._means.guard)
            return None
        if head.status == 304 and is_conditional(request):
            etag, last_modified = etag or request.etag, last_modified or request.last_modified
            return NotModified(304, etag, last_modified, str(link), cache_control, robots_tag)
        if not head.is_whole_file:
            raise refusal(head, link, secrets_left_behind=way.secrets_left_behind, now=permit.now())
        sha256, size_bytes = await exchange.store(head, self._to, self.progress)
        content_type = head.headers.get("content-type", "")
        return Fetched(
            sha256, size_bytes, str(link), etag, last_modified, head.status, content_type, cache_control, robots_tag
        )

    async def _resolve(self) -> list[Address]:
        link, connect_s = self.way.link, self._limits.connect_s
        try:
            async with asyncio.timeout(connect_s):
                return await self._means.guard.resolve(link, owner=self._request.owner)
        except TimeoutError as error:
            raise FetchFailed("DNS_FAILED", f"Resolving {link.host} took longer than {connect_s:g} s") from error


@contextmanager
def _stopped(clock: asyncio.Timeout) -> Iterator[None]:
    if clock.expired():  # the next wait raises the timeout
        yield
        return
    loop = asyncio.get_running_loop()
    left_s = (clock.when() or 0) - loop.time()
    clock.reschedule(None)
    try:
        yield
    finally:
        clock.reschedule(loop.time() + left_s)
