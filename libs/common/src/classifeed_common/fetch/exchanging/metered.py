"""MeteredStream: a connection with a read timeout and a minimum rate."""

from __future__ import annotations

import ssl
import time
from typing import Any

import httpcore

from classifeed_common.fetch.failed import FetchFailed
from classifeed_common.fetch.models import FetchLimits


class MeteredStream(httpcore.AsyncNetworkStream):
    """Passes bytes on, and reports faults of the peer as `FetchFailed`.

    The rate counts only the time spent waiting for the peer: the server is not to blame for a slow disk of ours.

    Args:
        stream: stream to read from and write to.
        limits: limits with `read_s` and `min_bytes_per_s`; httpcore's own timeouts are not used.
        shown: URL, for messages.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream, limits: FetchLimits, shown: str) -> None:
        self._stream = stream
        self._limits = limits
        self._shown = shown
        self._window_bytes = 0
        self._window_s = 0.0
        self.received_bytes = 0
        self.is_at_end = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Return the received bytes; empty at the end.

        Raises:
            FetchFailed: READ_TIMEOUT, TOO_SLOW, CONNECTION_LOST.
        """
        started_s = time.monotonic()
        try:
            data = await self._stream.read(max_bytes, timeout=self._limits.read_s)
        except httpcore.ReadTimeout as error:
            raise FetchFailed(
                "READ_TIMEOUT", f"No data came from {self._shown} for {self._limits.read_s:g} s"
            ) from error
        except (httpcore.ReadError, ssl.SSLError, OSError) as error:
            raise FetchFailed("CONNECTION_LOST", f"The connection to {self._shown} was cut") from error
        self.is_at_end = not data
        self.received_bytes += len(data)
        self._check_rate(len(data), time.monotonic() - started_s)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Send bytes. If the connection is cut, the peer may have responded before: httpcore reads that response.

        Raises:
            FetchFailed: READ_TIMEOUT.
            httpcore.WriteError: the connection is cut.
        """
        try:
            await self._stream.write(buffer, timeout=self._limits.read_s)
        except httpcore.WriteTimeout as error:
            raise FetchFailed("READ_TIMEOUT", f"{self._shown} refuses the request") from error
        except (ssl.SSLError, OSError) as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        """Close the connection at once."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Not supported: TLS is below this stream."""
        raise NotImplementedError

    def get_extra_info(self, info: str) -> Any:
        """Return information from the connection below."""
        return self._stream.get_extra_info(info)

    def _check_rate(self, size_bytes: int, waited_s: float) -> None:
        self._window_bytes += size_bytes
        self._window_s += waited_s
        if self._window_s < self._limits.read_s:
            return
        rate = self._window_bytes / self._window_s
        if rate < self._limits.min_bytes_per_s:
            raise FetchFailed("TOO_SLOW", f"{self._shown} sent {rate:.0f} bytes per second over {self._window_s:.0f} s")
        self._window_bytes, self._window_s = 0, 0.0
