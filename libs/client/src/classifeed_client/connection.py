"""Channels to one installation, and what every call over them has in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar, cast

import grpc
from opentelemetry.instrumentation.grpc import client_interceptor
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel

from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceStub
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub
from classifeed_client.aside import aside
from classifeed_client.errors import error_of

T = TypeVar("T")

# A service that is silent is noticed within 22 s, by calls with long deadlines too. Services of the version before
# close the connection of a client that pings more often than every 10 s.
OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.keepalive_time_ms", 12_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # The first of the two also bounds an attempt to connect, which may take 20 s by default.
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 5_000),
)


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the services listen, host:port."""

    api: str
    offers: str
    searcher: str


class Caller:
    """Calls services. Blocks; may be shared by threads; close it, or use it in a `with` block.

    Args:
        addresses: where each service listens, host:port.
        token: asked before each call for the bearer token, so that a renewed one is used.
        timeout_s: how long a call may take, unless it says otherwise.
        connect: opens a channel to an address; without TLS unless given.
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
        self._channels = {name: (connect or _open_channel)(address) for name, address in addresses.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        for channel in self._channels.values():
            channel.close()

    def _options(self, timeout_s: float | None = None) -> dict[str, Any]:
        return {
            "metadata": (("authorization", f"Bearer {self._token()}"),),
            "timeout": self._timeout_s if timeout_s is None else timeout_s,
        }

    def _call(self, method: Any, request: object, _answer: type[T], timeout_s: float | None = None) -> T:
        with translated():
            return cast(T, aside(lambda: method(request, **self._options(timeout_s))))


class Connection(Caller):
    """Calls one installation, as its sellers do. Arguments as those of Caller."""

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
        # The stubs' types are those of grpc.aio; over a synchronous channel the same stubs block.
        self._feeds: Any = FeedServiceStub(cast(Any, self._channels["api"]))
        self._offers: Any = OfferServiceStub(cast(Any, self._channels["offers"]))
        self._search: Any = SearchServiceStub(cast(Any, self._channels["searcher"]))


@contextmanager
def translated() -> Iterator[None]:
    """Raises what grpc raises in the block as one of our errors."""
    try:
        yield
    except grpc.RpcError as error:
        raise error_of(error) from error


def _open_channel(address: str) -> grpc.Channel:
    # Spans only where the caller has set tracing up; then a trace begins here and goes through every service.
    channel = grpc.insecure_channel(address, options=OPTIONS)
    return cast(grpc.Channel, intercept_channel(channel, client_interceptor()))  # type: ignore[no-untyped-call]
