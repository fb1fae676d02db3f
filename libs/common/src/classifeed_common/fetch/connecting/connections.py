"""Connections: reuses a kept connection to a checked address, or dials a new one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpcore

from classifeed_common.fetch.addresses.networks import Address
from classifeed_common.fetch.addresses.urls import Link
from classifeed_common.fetch.connecting.dialing import Dialer
from classifeed_common.fetch.connecting.kept import KeptConnections
from classifeed_common.fetch.metrics import FETCH_CONNECTIONS
from classifeed_common.fetch.models import FetchLimits, KeepAlive


@dataclass(slots=True)
class Connection:
    """An open connection.

    Attributes:
        stream: stream to read from and write to.
        was_kept: whether it served an earlier request.
        may_serve_again: whether to keep it. Set once the response is read to its end and the server keeps it open.
    """

    stream: httpcore.AsyncNetworkStream
    was_kept: bool
    may_serve_again: bool = False


class Connections:
    """Dials, or reuses a connection that an earlier request to the same address left open.

    Args:
        dialer: dialer for new connections.
        keep: limits of kept connections.
    """

    def __init__(self, dialer: Dialer, keep: KeepAlive) -> None:
        self._dialer = dialer
        self._kept = KeptConnections(keep)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def are_kept(self) -> bool:
        """Whether servers are requested to keep connections open."""
        return self._kept.is_on

    @asynccontextmanager
    async def connection(
        self, link: Link, addresses: Sequence[Address], limits: FetchLimits, *, fresh: bool = False
    ) -> AsyncIterator[Connection]:
        """Provide a connection to one of the addresses, and close it unless `may_serve_again` is set.

        Args:
            link: URL of the request; TLS verifies its name.
            addresses: addresses that the check of this request allowed, best first.
            limits: timeouts for dialling.
            fresh: whether to dial even if a connection is kept.

        Raises:
            FetchFailed: CONNECT_*, TLS_*, PROXY_FAILED.
        """
        kept = None if fresh else self._kept.take(link, addresses)
        stream, address = kept or await self._dialer.dial(link, addresses, limits)
        FETCH_CONNECTIONS.labels("new" if kept is None else "kept").inc()
        connection = Connection(stream, was_kept=kept is not None)
        try:
            yield connection
        except BaseException:
            connection.may_serve_again = False
            raise
        finally:
            if connection.may_serve_again:
                self._kept.put(link, address, stream)
            else:
                await stream.aclose()

    async def close(self) -> None:
        """Close the kept connections."""
        await self._kept.close()
