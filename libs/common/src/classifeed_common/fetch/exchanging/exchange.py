"""Exchange: one request and its response on a connection, within the limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import httpcore

from classifeed_common.fetch.addresses.urls import Link
from classifeed_common.fetch.exchanging.decoding import decoder_for
from classifeed_common.fetch.exchanging.headers import Headers
from classifeed_common.fetch.exchanging.metered import MeteredStream
from classifeed_common.fetch.exchanging.responses import Head
from classifeed_common.fetch.exchanging.storing import Storing
from classifeed_common.fetch.failed import FetchFailed
from classifeed_common.fetch.models import FetchLimits

# Limits the framing bytes of a chunked body relative to its content: tiny chunks are an attack.
_MAX_FRAMING_RATIO: Final = 8
_FRAMING_FROM_BYTES: Final = 1 << 20


@dataclass(slots=True)
class Progress:
    """The state of a download, for the report of its failure."""

    http_status: int = 0
    bytes_received: int = 0


class Exchange:
    """One request and its response. The caller owns the connection, which keeps no state of this exchange.

    Args:
        bare: the connection.
        link: requested URL.
        limits: limits of the download; silence and rates are measured for this exchange only.
    """

    def __init__(self, bare: httpcore.AsyncNetworkStream, link: Link, limits: FetchLimits) -> None:
        self._link = link
        self._limits = limits
        self._stream = MeteredStream(bare, limits, link.shown)
        self._url = httpcore.URL(
            scheme=link.scheme.encode(), host=link.host.encode(), port=link.port, target=link.target.encode()
        )
        self._connection = httpcore.AsyncHTTP11Connection(self._url.origin, self._stream)
        self._response: httpcore.Response | None = None

    @property
    def has_begun_to_come(self) -> bool:
        """Whether any byte of a response was received."""
        return self._stream.received_bytes > 0

    async def send(self, headers: Headers) -> Head:
        """Send the request and return the head of the response; the body stays unread.

        Raises:
            FetchFailed: READ_TIMEOUT, TOO_SLOW, CONNECTION_LOST, HEADERS_TOO_LARGE, PROTOCOL_ERROR.
        """
        shown, read_s = self._link.shown, self._limits.read_s
        try:
            async with asyncio.timeout(read_s):
                request = httpcore.Request("GET", self._url, headers=headers)
                self._response = await self._connection.handle_async_request(request)
        except TimeoutError as error:
            raise FetchFailed("READ_TIMEOUT", f"{shown} did not respond within {read_s:g} s") from error
        except httpcore.RemoteProtocolError as error:
            if getattr(error.__cause__, "error_status_hint", 0) == 431:  # h11 reports a head beyond its limit this way
                raise FetchFailed("HEADERS_TOO_LARGE", f"The response of {shown} has too many headers") from error
            raise self._broken_off(error, "CONNECTION_LOST") from error
        return Head.of(self._response.status, self._response.headers)

    async def store(self, head: Head, to: Path, progress: Progress) -> tuple[str, int]:
        """Write the body to `to`, and return its hash and its stored size in bytes.

        Raises:
            FetchFailed: the body is incomplete or breaks a limit; `to` is unchanged.
        """
        storing = Storing(to, self._limits, decoder_for(head.headers.get("content-encoding", "")))
        try:
            await storing.open(head.announced_bytes)
            async with aclosing(self._chunks()) as chunks:
                async for chunk in chunks:
                    progress.bytes_received += len(chunk)
                    await storing.add(chunk)
                    self._check_framing(progress.bytes_received)
            return await storing.finish(), storing.size_bytes
        except httpcore.RemoteProtocolError as error:
            raise self._broken_off(error, "TRUNCATED") from error
        finally:
            await storing.close()

    async def end(self, head: Head) -> bool:
        """End the exchange; return whether the connection may serve another one (RFC 9112, section 9.3).

        It may if the response was read to its end or has no body, the server keeps the connection open, and no bytes
        follow. Otherwise the connection is closed. Reads nothing from the network.
        """
        assert self._response is not None
        if head.has_no_body:
            async with aclosing(self._chunks()) as chunks:
                async for _ in chunks:
                    break
        await self._response.aclose()
        rest, is_at_end = self._connection._h11_state.trailing_data
        return self._connection.is_idle() and not rest and not is_at_end

    def _chunks(self) -> AsyncGenerator[bytes, None]:
        assert self._response is not None
        return cast(AsyncGenerator[bytes, None], self._response.aiter_stream())

    def _check_framing(self, content_bytes: int) -> None:
        if self._stream.received_bytes > _FRAMING_FROM_BYTES + _MAX_FRAMING_RATIO * content_bytes:
            raise FetchFailed("PROTOCOL_ERROR", f"{self._link.shown} sends the file in pieces of a few bytes")

    def _broken_off(self, error: httpcore.RemoteProtocolError, at_the_end: str) -> FetchFailed:
        shown = self._link.shown
        if self._stream.is_at_end:
            return FetchFailed(at_the_end, f"{shown} closed the connection before its response was complete")
        return FetchFailed("PROTOCOL_ERROR", f"{shown} did not respond with valid HTTP ({error})")
