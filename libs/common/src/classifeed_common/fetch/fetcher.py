"""Fetcher: HTTP client for untrusted URLs, with SSRF protection; the only one of the suite (ADR 0019)."""

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
    # One for all fetchers: reading the certificates takes 20 ms.
    return ssl.create_default_context(cafile=certifi.where())


class Fetcher:
    """Downloads files from untrusted URLs. Safe to share between tasks.

    Each URL, also of a redirect, is resolved once. It is refused unless all its addresses are public, and only a
    checked address is dialled. Cookies and the environment (proxies, netrc) are not used. A connection is reused only
    for the same name, at an address that the check of the next request allows, and after a response that was read to
    its end.

    Args:
        guard: checks which addresses may be dialled; closed by `close`.
        limits: limits of downloads without their own.
        proxy: `http://[user:password@]host:port` of a proxy that makes the connections, by CONNECT.
        user_agent: value of the header User-Agent.
        keep: limits of connections kept for further requests; default: none are kept.
        permits: limits of requests to a host, over all processes; None: no limits. Closed by the caller.
        ssl_context: TLS settings with the trusted certificates; None: public authorities.
        fixes: fixes for the owner of a URL, by code.

    Raises:
        ValueError: `proxy` is not a valid proxy.
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
        """Download a file to `to`, replacing it, or find that the caller already has the current version.

        May be repeated. Unless it returns `Fetched`, `to` is unchanged; a killed process may leave a hidden file
        `.<name>.<random>.part` next to it. Waits for a permit as long as `permits` allows.

        Args:
            request: file to download.
            to: target path; its folder exists.
            limits: limits of this download; None: the fetcher's.

        Raises:
            FetchFailed: the download failed.
            HostPaused: `permits` were given, and the host, or a redirect's, may get the request only later.
            Exception: any error of `permits`: their table cannot be read.
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
        """Cancel look-ups and close kept connections. Callers cancel their downloads themselves."""
        self._guard.close()
        await self._connections.close()
