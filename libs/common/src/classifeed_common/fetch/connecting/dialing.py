"""Dialling of checked addresses, directly or through a proxy."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

import httpcore

from classifeed_common.fetch.addresses.networks import Address
from classifeed_common.fetch.addresses.urls import Link
from classifeed_common.fetch.exchanging.headers import basic
from classifeed_common.fetch.failed import FetchFailed
from classifeed_common.fetch.models import FetchLimits

_MAX_ADDRESSES: Final = 4
_WRONG_NAME: Final = frozenset({62, 64})  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH
_DATES: Final = frozenset({9, 10})  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
_TARGET_UNREACHED: Final = frozenset({502, 503, 504})


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy that makes the connections. The operator sets its address, so no guard checks it."""

    host: str
    port: int
    authorization: str

    @classmethod
    def parse(cls, url: str) -> Proxy:
        """Return the proxy in `http://user:password@host:port`.

        Raises:
            ValueError: the URL is no proxy; the message does not contain the password.
        """
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or not parts.port:
            raise ValueError("the proxy must be given as http://host:port or http://user:password@host:port")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        return cls(parts.hostname, parts.port, basic(user, password) if user else "")


class Dialer:
    """Connects to checked addresses.

    Args:
        proxy: proxy that makes the connections; it receives the address, so it cannot resolve the name itself.
        ssl_context: TLS settings with the trusted certificates.
    """

    def __init__(self, proxy: Proxy | None, ssl_context: ssl.SSLContext) -> None:
        self._proxy = proxy
        self._ssl_context = ssl_context
        self._backend = httpcore.AnyIOBackend()

    async def dial(
        self, link: Link, addresses: Sequence[Address], limits: FetchLimits
    ) -> tuple[httpcore.AsyncNetworkStream, Address]:
        """Connect to the first address that responds, with TLS for the name in the URL.

        Returns:
            The connection, which the caller closes, and its address.

        Raises:
            FetchFailed: CONNECT_*, TLS_*, PROXY_FAILED.
        """
        stream, address = await self._connect(link, addresses, limits)
        if link.scheme != "https":
            return stream, address
        try:
            return await self._secure(stream, link, limits), address
        except BaseException:
            await stream.aclose()
            raise

    async def _connect(
        self, link: Link, addresses: Sequence[Address], limits: FetchLimits
    ) -> tuple[httpcore.AsyncNetworkStream, Address]:
        loop = asyncio.get_running_loop()
        candidates = addresses[:_MAX_ADDRESSES]
        end_s = loop.time() + limits.connect_s
        failed = FetchFailed("CONNECT_TIMEOUT", f"{link.shown} has no address")
        for number, address in enumerate(candidates):
            share_s = max(end_s - loop.time(), 0) / (len(candidates) - number)
            try:
                async with asyncio.timeout(share_s):
                    return await self._open(link, address), address
            except FetchFailed as refused:
                failed = refused
            except TimeoutError:
                failed = FetchFailed("CONNECT_TIMEOUT", f"{link.shown} did not respond within {limits.connect_s:g} s")
        raise failed

    async def _open(self, link: Link, address: Address) -> httpcore.AsyncNetworkStream:
        if self._proxy is not None:
            return await self._tunnel(self._proxy, link, address)
        try:
            return await self._backend.connect_tcp(str(address), link.port)
        except httpcore.ConnectError as error:
            raise _unconnected(link, error) from error

    async def _tunnel(self, proxy: Proxy, link: Link, address: Address) -> httpcore.AsyncNetworkStream:
        target = f"[{address}]:{link.port}" if address.version == 6 else f"{address}:{link.port}"
        url = httpcore.URL(scheme=b"http", host=proxy.host.encode(), port=proxy.port, target=target.encode())
        headers = [("Host", target)]
        if proxy.authorization:
            headers.append(("Proxy-Authorization", proxy.authorization))
        try:
            stream = await self._backend.connect_tcp(proxy.host, proxy.port)
        except httpcore.ConnectError as error:
            raise FetchFailed("PROXY_FAILED", "The proxy cannot be reached") from error
        try:
            connection = httpcore.AsyncHTTP11Connection(url.origin, stream)
            response = await connection.handle_async_request(httpcore.Request("CONNECT", url, headers=headers))
        except (httpcore.ProtocolError, httpcore.NetworkError) as error:
            await stream.aclose()
            raise FetchFailed("PROXY_FAILED", "The proxy does not respond as a proxy") from error
        except BaseException:
            await stream.aclose()
            raise
        if 200 <= response.status < 300:
            tunnel: httpcore.AsyncNetworkStream = response.extensions["network_stream"]
            return tunnel
        await stream.aclose()
        if response.status in _TARGET_UNREACHED:
            raise FetchFailed("CONNECT_FAILED", f"{link.shown} cannot be reached")
        raise FetchFailed("PROXY_FAILED", f"The proxy refused the connection with status {response.status}")

    async def _secure(
        self, stream: httpcore.AsyncNetworkStream, link: Link, limits: FetchLimits
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(limits.connect_s):
                return await stream.start_tls(self._ssl_context, link.host)
        except TimeoutError as error:
            raise FetchFailed(
                "CONNECT_TIMEOUT", f"{link.shown} did not agree on TLS within {limits.connect_s:g} s"
            ) from error
        except (httpcore.ConnectError, ssl.SSLError, ssl.CertificateError, OSError) as error:
            raise _insecure(link, error) from error


def _unconnected(link: Link, error: BaseException) -> FetchFailed:
    if any(isinstance(each, ConnectionRefusedError) for each in _causes(error)):
        return FetchFailed("CONNECT_REFUSED", f"{link.shown} refuses connections")
    if any(isinstance(each, OSError) and each.errno == errno.ETIMEDOUT for each in _causes(error)):
        return FetchFailed("CONNECT_TIMEOUT", f"{link.shown} did not respond")
    return FetchFailed("CONNECT_FAILED", f"{link.shown} cannot be reached")


def _insecure(link: Link, error: BaseException) -> FetchFailed:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            code = "TLS_UNTRUSTED"
            code = "TLS_WRONG_NAME" if cause.verify_code in _WRONG_NAME else code
            code = "TLS_EXPIRED" if cause.verify_code in _DATES else code
            return FetchFailed(code, f"The certificate of {link.host} was refused: {cause.verify_message}".rstrip("."))
    return FetchFailed("TLS_FAILED", f"No TLS connection to {link.shown} could be made")


def _causes(error: BaseException | None) -> list[BaseException]:
    """Return an error and all its causes: the libraries below wrap errors, also several in one."""
    if error is None:
        return []
    inner = list(error.exceptions) if isinstance(error, BaseExceptionGroup) else []
    return [error, *_causes(error.__cause__), *(each for one in inner for each in _causes(one))]
