"""Channels to one installation, and the common parts of all calls: token, timeout, errors, pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self, TypeVar, cast

import grpc
from opentelemetry.instrumentation.grpc import client_interceptor
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel

from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceStub
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub
from classifeed_client.aside import aside, stream_aside
from classifeed_client.environment import Addresses, read_environment
from classifeed_client.errors import Peer, error_of
from classifeed_client.stubs import Method, Stub

T = TypeVar("T")

# Keepalive detects a service that does not respond within 22 s, even in calls with long deadlines. Services of the
# previous release close the connection of a client that pings more often than every 10 s.
OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.keepalive_time_ms", 12_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # The minimum is also the timeout of a connection attempt, which is 20 s by default.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 5_000),
)


class Caller:
    """Calls services. Calls block; threads may share it. Close it, or use it in a `with` block.

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
        connect: Callable[[str], grpc.Channel] | None = None,
    ) -> None:
        self._token = token
        self._timeout_s = timeout_s
        self._peers = {name: Peer(name, address) for name, address in addresses.items()}
        self._channels = {name: (connect or _open_channel)(address) for name, address in addresses.items()}
        self._open_stubs()

    def _open_stubs(self) -> None:
        """Create the stubs of the services that this client calls."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        for channel in self._channels.values():
            channel.close()

    def _options(self, timeout_s: float | None = None) -> dict[str, Any]:
        return {
            "metadata": (("authorization", f"Bearer {self._token()}"),),
            "timeout": self._timeout_s if timeout_s is None else timeout_s,
        }

    def _stub(self, service: str, make: Callable[[Any], object]) -> Any:
        """Return a stub, created by `make` over the channel to a service, whose methods know the service."""
        return Stub(make(self._channels[service]), self._peers[service])

    def _call(self, method: Method, request: object, _response: type[T], timeout_s: float | None = None) -> T:
        with translated(method.peer):
            return cast(T, aside(lambda: method(request, **self._options(timeout_s))))

    def _stream(self, method: Method, request: object, _item: type[T], timeout_s: float) -> Iterator[T]:
        with translated(method.peer):
            yield from stream_aside(lambda: method(request, **self._options(timeout_s)))

    def _items(self, ask: Callable[[str], Any], items: str, _item: type[T]) -> Iterator[T]:
        """Yield the values of the field `items` of all pages; `ask` returns the page for a token."""
        token = ""
        while True:
            page = ask(token)
            yield from getattr(page, items)
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
        connect: Callable[[str], grpc.Channel] | None = None,
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


@contextmanager
def translated(peer: Peer) -> Iterator[None]:
    """Translate gRPC errors in the block into an ApiError that names the service."""
    try:
        yield
    except grpc.RpcError as error:
        raise error_of(error, peer) from error


def _open_channel(address: str) -> grpc.Channel:
    # Spans are recorded only if the caller has set up tracing. Then the trace begins here and spans every service.
    channel = grpc.insecure_channel(address, options=OPTIONS)
    return cast(grpc.Channel, intercept_channel(channel, client_interceptor()))  # type: ignore[no-untyped-call]
