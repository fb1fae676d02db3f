"""Fetcher: the only way of the suite to addresses that users name (ADR 0019)."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import certifi

from classifeed_common.fetch.addresses.guard import AddressGuard
from classifeed_common.fetch.connecting.connections import Connections
from classifeed_common.fetch.connecting.dialing import Dialer, Proxy
from classifeed_common.fetch.download import Download, Means
from classifeed_common.fetch.failed import FetchFailed
from classifeed_common.fetch.faults import FEED_FIXES
from classifeed_common.fetch.metrics import DOWNLOADS, OK
from classifeed_common.fetch.models import Fetched, FetchLimits, FetchRequest, KeepAlive, NotModified
from classifeed_common.fetch.permits import HostPermits


@cache
def _public_authorities() -> ssl.SSLContext:
    # One for all: reading the certificates takes 20 ms.
    return ssl.create_default_context(cafile=certifi.where())


class Fetcher:
    """Downloads files from addresses that nobody vouches for. Safe to share between tasks.

    Each address on the way is looked up once, refused unless all results are public, and the one that was checked is
    the one that is dialled. No cookies, no environment (proxies, netrc). A connection is used again only for the same
    name at an address that the check of the next request allows, and never after a response that was not read whole.

    Args:
        guard: says which addresses may be dialled; closed by `close`.
        limits: for downloads that bring none of their own.
        proxy: `http://[user:password@]host:port` of a proxy that makes the connections, by CONNECT.
        user_agent: who we say we are.
        keep: which connections stay open for further requests; none unless given.
        permits: bound rate and number of requests to a host over all processes; unlimited unless given. The caller's
            to close.
        ssl_context: which certificates are good; those of public authorities unless given.
        fixes: what the owner of a link does about a failure, by code.

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
        keep: KeepAlive = KeepAlive(),  # noqa: B008  # frozen
        permits: HostPermits | None = None,
        ssl_context: ssl.SSLContext | None = None,
        fixes: Mapping[str, str] = FEED_FIXES,
    ) -> None:
        self._guard = guard
        self._limits = limits
        self._fixes = fixes
        dialer = Dialer(Proxy.parse(proxy) if proxy else None, ssl_context or _public_authorities())
        self._connections = Connections(dialer, keep)
        self._means = Means(guard, self._connections, permits, user_agent)

    async def fetch(self, request: FetchRequest, to: Path, limits: FetchLimits | None = None) -> Fetched | NotModified:
        """Download a file to `to`, replacing what was there, or learns that the caller has it already.

        May be called again at will. Unless it returns `Fetched`, `to` is as before; a process that is killed may leave
        a hidden file `.<name>.<random>.part` beside it. Waits for a permit as long as `permits` says.

        Args:
            request: what to download.
            to: where the file shall be; its folder exists.
            limits: what the download may take; those of the fetcher unless given.

        Raises:
            FetchFailed: it did not come.
            HostPaused: `permits` were given, and this host, or that of a redirect, is to get the request later.
            Exception: whatever else `permits` raise: their table cannot be had.
        """
        download: Download | None = None
        try:
            download = Download(self._means, request, to, limits or self._limits)
            outcome = await download.run()
        except FetchFailed as failed:
            failed.fixes = self._fixes
            if download is not None:
                failed.http_status = failed.http_status or download.progress.http_status
                failed.bytes_received = download.progress.bytes_received
            DOWNLOADS.count(download.host if download else None, failed.code, failed.bytes_received)
            raise
        DOWNLOADS.count(download.host, OK, download.progress.bytes_received)
        return outcome

    async def close(self) -> None:
        """End the look-ups of names and close what was kept. Downloads under way are the callers' to cancel."""
        self._guard.close()
        await self._connections.close()
