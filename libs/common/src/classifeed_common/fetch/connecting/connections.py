"""Connections: to one of the addresses that were checked for a request, kept ones first."""

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
        stream: What is read and written.
        was_kept: Whether it served an earlier request.
        may_serve_again: Set once the response was read to its end and the server means to go on; otherwise it closes.
    """

    stream: httpcore.AsyncNetworkStream
    was_kept: bool
    may_serve_again: bool = False


class Connections:
    """Dials, or gives a connection that an earlier request to the same address left open.

    Args:
        dialer: makes new ones.
        keep: how many stay open after a response, and for how long.
    """

    def __init__(self, dialer: Dialer, keep: KeepAlive) -> None:
        self._dialer = dialer
        self._kept = KeptConnections(keep)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def are_kept(self) -> bool:
        """Whether servers are requested to keep them open."""
        return self._kept.is_on

    @asynccontextmanager
    async def connection(
        self, link: Link, addresses: Sequence[Address], limits: FetchLimits, *, fresh: bool = False
    ) -> AsyncIterator[Connection]:
        """Give a connection to one of the addresses; closes it in any case but `may_serve_again`.

        Args:
            link: whom it is for: TLS is for its name.
            addresses: what the check of this very request has allowed, best first.
            limits: how long dialling may take.
            fresh: dial, whatever is kept.

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
        """Close those that are kept."""
        await self._kept.close()
