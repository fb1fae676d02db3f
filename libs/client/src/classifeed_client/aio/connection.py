"""Channels to one installation for asyncio, and the common parts of all calls: token, timeout, errors, pages."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Self, TypeVar, cast

import grpc.aio
from opentelemetry.instrumentation.grpc import aio_client_interceptors

from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceStub
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub
from classifeed_client.connection import OPTIONS, translated
from classifeed_client.environment import Addresses, read_environment
from classifeed_client.errors import Peer
from classifeed_client.stubs import Method, Stub

T = TypeVar("T")


class Caller:
    """Calls services from one event loop. Close it, or use it in an `async with` block.

    Args:
        addresses: Address of each service, host:port.
        token: Function that returns the bearer token; called before each call, so that a renewed token is used.
        timeout_s: Default timeout of a call, in seconds.
        connect: Function that opens a channel to an address. The default opens channels without TLS.
    """

    def __init__(
        self,
        addresses: Mapping[str, str],
        token: Callable[[], str],
        *,
        timeout_s: float = 10.0,
        connect: Callable[[str], grpc.aio.Channel] | None = None,
    ) -> None:
        self._token = token
        self._timeout_s = timeout_s
        self._peers = {name: Peer(name, address) for name, address in addresses.items()}
        self._channels = {name: (connect or _open_channel)(address) for name, address in addresses.items()}
        self._open_stubs()

    def _open_stubs(self) -> None:
        """Create the stubs of the services that this client calls."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; calls under way are cancelled."""
        for channel in self._channels.values():
            await channel.close()

    def _stub(self, service: str, make: Callable[[grpc.aio.Channel], object]) -> Any:
        """Return a stub, created by `make` over the channel to a service, whose methods know the service."""
        return Stub(make(self._channels[service]), self._peers[service])

    def _options(self, timeout_s: float | None = None) -> dict[str, Any]:
        return {
            "metadata": (("authorization", f"Bearer {self._token()}"),),
            "timeout": self._timeout_s if timeout_s is None else timeout_s,
        }

    async def _call(self, method: Method, request: object, _response: type[T], timeout_s: float | None = None) -> T:
        with translated(method.peer):
            return cast(T, await method(request, **self._options(timeout_s)))

    async def _stream(self, method: Method, request: object, _item: type[T], timeout_s: float) -> AsyncIterator[T]:
        with translated(method.peer):
            async for message in method(request, **self._options(timeout_s)):
                yield message

    async def _items(self, ask: Callable[[str], Awaitable[Any]], items: str, _item: type[T]) -> AsyncIterator[T]:
        """Yield the values of the field `items` of all pages; `ask` returns the page for a token."""
        token = ""
        while True:
            page = await ask(token)
            for item in getattr(page, items):
                yield item
            token = page.next_page_token
            if not token:
                return


class Connection(Caller):
    """Calls the seller APIs of one installation. The arguments are those of Caller."""

    def __init__(
        self,
        addresses: Addresses,
        token: Callable[[], str],
        *,
        timeout_s: float = 10.0,
        connect: Callable[[str], grpc.aio.Channel] | None = None,
    ) -> None:
        named = {"api": addresses.api, "offers": addresses.offers, "searcher": addresses.searcher}
        super().__init__(named, token, timeout_s=timeout_s, connect=connect)

    def _open_stubs(self) -> None:
        self._feeds = self._stub("api", FeedServiceStub)
        self._offers = self._stub("offers", OfferServiceStub)
        self._search = self._stub("searcher", SearchServiceStub)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ, *, timeout_s: float = 10.0) -> Self:
        """Return a client of the installation that the environment names (see `read_environment`)."""
        return cls(*read_environment(environ), timeout_s=timeout_s)


def _open_channel(address: str) -> grpc.aio.Channel:
    # Spans are recorded only if the caller has set up tracing. Then the trace begins here and spans every service.
    interceptors = aio_client_interceptors()  # type: ignore[no-untyped-call]
    return grpc.aio.insecure_channel(address, options=OPTIONS, interceptors=interceptors)
