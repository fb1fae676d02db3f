"""Fetcher: the only way of the suite to addresses that users name (ADR 0019)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import certifi
import httpcore

from classifeed_common.fetch.decoding import decoder_for
from classifeed_common.fetch.dialing import Dialer, Proxy
from classifeed_common.fetch.failed import FetchFailed
from classifeed_common.fetch.guard import AddressGuard
from classifeed_common.fetch.headers import check_secrets, headers_for, is_conditional, sendable
from classifeed_common.fetch.metered import MeteredStream
from classifeed_common.fetch.models import Fetched, FetchLimits, FetchRequest, NotModified
from classifeed_common.fetch.networks import Address
from classifeed_common.fetch.redirects import Redirects
from classifeed_common.fetch.responses import Head, refusal
from classifeed_common.fetch.slots import HostSlots
from classifeed_common.fetch.storing import Storing
from classifeed_common.fetch.urls import Link

# What travels beside the content, beyond which the pieces of a chunked body are too small to be meant well.
_MAX_FRAMING_RATIO: Final = 8
_FRAMING_FROM_BYTES: Final = 1 << 20


@dataclass(slots=True)
class _Progress:
    """How far a download came, for whoever has to tell of its failure."""

    http_status: int = 0
    bytes_received: int = 0


class Fetcher:
    """Downloads files from addresses that nobody vouches for. Safe to share between tasks.

    Each address on the way is looked up once, refused unless all answers are public, and the one that was checked is
    the one that is dialled. No cookies, no environment (proxies, netrc), no connection is used twice.

    Args:
        guard: says which addresses may be dialled; closed by `close`.
        limits: for downloads that bring none of their own.
        proxy: `http://[user:password@]host:port` of a proxy that makes the connections, by CONNECT.
        user_agent: who we say we are.
        ssl_context: which certificates are good; those of public authorities unless given.

    Raises:
        ValueError: the proxy is not one.
    """

    def __init__(
        self,
        *,
        guard: AddressGuard,
        limits: FetchLimits = FetchLimits(),  # noqa: B008  # frozen
        proxy: str | None = None,
        user_agent: str = "Classifeed/0.1 (+feeds)",
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._guard = guard
        self._limits = limits
        self._user_agent = user_agent
        self._slots = HostSlots()
        self._dialer = Dialer(
            Proxy.parse(proxy) if proxy else None, ssl_context or ssl.create_default_context(cafile=certifi.where())
        )

    async def fetch(self, request: FetchRequest, to: Path, limits: FetchLimits | None = None) -> Fetched | NotModified:
        """Download a file to `to`, replacing what was there, or learns that the caller has it already.

        May be called again at will. Unless it returns `Fetched`, `to` is as before; a process that is killed may leave
        a hidden file `.<name>.<random>.part` beside it. Waits for a slot of the host as long as it takes.

        Args:
            request: what to download.
            to: where the file shall be; its folder exists.
            limits: what the download may take; those of the fetcher unless given.

        Raises:
            FetchFailed: it did not come.
        """
        limits = limits or self._limits
        progress = _Progress()
        try:
            check_secrets(request)
            way = Redirects(
                self._guard.check_url(request.url),
                limit=limits.redirects,
                has_secrets=bool(request.headers or request.basic_auth),
            )
            async with asyncio.timeout(limits.total_s) as clock:
                while True:
                    async with self._slot(way.link, request.owner, limits, clock):
                        outcome = await self._ask(way, request, to, limits, progress)
                    if outcome is not None:
                        return outcome
        except TimeoutError as error:
            raise FetchFailed(
                "TOTAL_TIMEOUT",
                f"{way.link.shown} was not downloaded within {limits.total_s:g} s",
                http_status=progress.http_status,
                bytes_received=progress.bytes_received,
            ) from error
        except FetchFailed as failed:
            failed.http_status = failed.http_status or progress.http_status
            failed.bytes_received = progress.bytes_received
            raise

    async def close(self) -> None:
        """End the look-ups of names. Downloads under way are the callers' to cancel."""
        self._guard.close()

    @asynccontextmanager
    async def _slot(self, link: Link, owner: str, limits: FetchLimits, clock: asyncio.Timeout) -> AsyncIterator[None]:
        """Wait for a slot of the host with the clock stopped: our own queue is not the server's fault."""
        loop = asyncio.get_running_loop()
        left_s = (clock.when() or 0) - loop.time()
        clock.reschedule(None)
        async with self._slots.hold(link.host, limits.per_host, owner):
            clock.reschedule(loop.time() + left_s)
            yield

    async def _ask(
        self, way: Redirects, request: FetchRequest, to: Path, limits: FetchLimits, progress: _Progress
    ) -> Fetched | NotModified | None:
        """Ask the address that the way has come to; None after a redirect that was followed."""
        link = way.link
        addresses = await self._resolve(link, request.owner, limits)
        headers = headers_for(link, request, user_agent=self._user_agent, with_secrets=way.with_secrets)
        async with self._dialer.connection(link, addresses, limits) as bare:
            stream = MeteredStream(bare, limits, link.shown)
            response = await _send(stream, link, headers, limits)
            head = Head.of(response.status, response.headers)
            progress.http_status, progress.bytes_received = head.status, 0
            if head.is_redirect:
                way.follow(head, self._guard)
                return None
            if head.status == 304 and is_conditional(request):
                etag, last_modified = _validators(head)
                return NotModified(304, etag or request.etag, last_modified or request.last_modified, str(link))
            if not head.is_whole_file:
                raise refusal(head, link, secrets_left_behind=way.secrets_left_behind)
            sha256, size_bytes = await _store(response, stream, head, to, limits, progress, link)
        etag, last_modified = _validators(head)
        content_type = head.headers.get("content-type", "")
        return Fetched(sha256, size_bytes, str(link), etag, last_modified, head.status, content_type)

    async def _resolve(self, link: Link, owner: str, limits: FetchLimits) -> list[Address]:
        try:
            async with asyncio.timeout(limits.connect_s):
                return await self._guard.resolve(link, owner=owner)
        except TimeoutError as error:
            raise FetchFailed(
                "DNS_FAILED", f"Looking up {link.host} took longer than {limits.connect_s:g} s"
            ) from error


async def _send(
    stream: MeteredStream, link: Link, headers: list[tuple[bytes, bytes]], limits: FetchLimits
) -> httpcore.Response:
    """Send the request and return the response, its body unread."""
    url = httpcore.URL(
        scheme=link.scheme.encode(), host=link.host.encode(), port=link.port, target=link.target.encode()
    )
    connection = httpcore.AsyncHTTP11Connection(url.origin, stream)
    try:
        async with asyncio.timeout(limits.read_s):
            return await connection.handle_async_request(httpcore.Request("GET", url, headers=headers))
    except TimeoutError as error:
        raise FetchFailed("READ_TIMEOUT", f"{link.shown} did not answer within {limits.read_s:g} s") from error
    except httpcore.RemoteProtocolError as error:
        if getattr(error.__cause__, "error_status_hint", 0) == 431:  # h11's word for a head beyond its limit
            raise FetchFailed(
                "HEADERS_TOO_LARGE", f"The answer of {link.shown} begins with too many headers"
            ) from error
        raise _broken_off(stream, link, error, "CONNECTION_LOST") from error


async def _store(
    response: httpcore.Response,
    stream: MeteredStream,
    head: Head,
    to: Path,
    limits: FetchLimits,
    progress: _Progress,
    link: Link,
) -> tuple[str, int]:
    """Write the body to `to` and return its hash and its size as stored."""
    storing = Storing(to, limits, decoder_for(head.headers.get("content-encoding", "")))
    try:
        await storing.open(head.announced_bytes)
        async with aclosing(cast(AsyncGenerator[bytes, None], response.aiter_stream())) as chunks:
            async for chunk in chunks:
                progress.bytes_received += len(chunk)
                await storing.add(chunk)
                if stream.received_bytes > _FRAMING_FROM_BYTES + _MAX_FRAMING_RATIO * progress.bytes_received:
                    raise FetchFailed("PROTOCOL_ERROR", f"{link.shown} sends the file in pieces of a few bytes")
        return await storing.finish(), storing.size_bytes
    except httpcore.RemoteProtocolError as error:
        raise _broken_off(stream, link, error, "TRUNCATED") from error
    finally:
        await storing.close()


def _broken_off(stream: MeteredStream, link: Link, error: httpcore.RemoteProtocolError, at_the_end: str) -> FetchFailed:
    if stream.is_at_end:
        return FetchFailed(at_the_end, f"{link.shown} closed the connection before its answer was whole")
    return FetchFailed("PROTOCOL_ERROR", f"{link.shown} answered with something else than HTTP ({error})")


def _validators(head: Head) -> tuple[str, str]:
    return sendable(head.headers.get("etag", "")), sendable(head.headers.get("last-modified", ""))
