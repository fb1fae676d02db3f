"""Keep-alive connections to one address.

The pool of httpcore scans all connections and all waiting requests at each step. With hundreds of them, the scan takes
longer than the requests. Here the caller limits the number of requests, so a stack of idle connections is enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import httpcore

_KEPT_S: Final = 60.0


class ResponseTooLargeError(Exception):
    """A response is larger than the limit."""


class Connections:
    """Keeps connections to the address of a URL.

    Args:
        url: URL of all requests.
        limit_bytes: maximum size of a response.
    """

    def __init__(self, url: str, *, limit_bytes: int) -> None:
        self._url = httpcore.URL(url)
        self._limit_bytes = limit_bytes
        self._idle: list[httpcore.AsyncHTTPConnection] = []

    async def post(
        self, headers: Sequence[tuple[bytes, bytes]], body: bytes, *, timeouts: Mapping[str, float]
    ) -> tuple[int, bytes]:
        """Send a request, and return status and content of the response.

        Raises:
            ResponseTooLargeError: the response is larger than the limit.
            httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError: no response arrived.
        """
        host = (b"Host", self._url.host + b":%d" % self._url.port if self._url.port else self._url.host)
        length = (b"Content-Length", b"%d" % len(body))
        request = httpcore.Request(
            "POST",
            self._url,
            headers=[host, length, *headers],
            content=body,
            extensions={"timeout": dict(timeouts)},
        )
        connection = await self._take()
        try:
            response = await connection.handle_async_request(request)
            try:
                content = bytearray()
                async for part in response.aiter_stream():
                    content += part
                    if len(content) > self._limit_bytes:
                        raise ResponseTooLargeError(f"the response has more than {self._limit_bytes} bytes")
            finally:
                await response.aclose()
        finally:
            if connection.is_idle():
                self._idle.append(connection)
            else:
                await connection.aclose()
        return response.status, bytes(content)

    async def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop().aclose()

    async def _take(self) -> httpcore.AsyncHTTPConnection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return httpcore.AsyncHTTPConnection(self._url.origin, keepalive_expiry=_KEPT_S)
