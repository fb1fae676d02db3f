"""Construction of gRPC servers with the same behaviour in all services."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import grpc.aio

from classifeed_common.auth.policy import LARGEST_REQUEST_BYTES, Policy
from classifeed_common.auth.service_tokens import KeyStore
from classifeed_common.rpc.interceptor import CallInterceptor
from classifeed_common.rpc.keepalive import KEEPALIVE, PERMITTED_PINGS
from classifeed_common.settings import ServiceSettings

ServicerT = TypeVar("ServicerT")

MAX_MESSAGE_BYTES: Final = LARGEST_REQUEST_BYTES
# How far a stream's sender may be ahead of us. gRPC's own estimate grows to megabytes per stream: 200 concurrent
# uploads then take 780 MiB, and 115 MiB with this limit; the throughput over a loopback is the same (ADR 0036).
STREAM_WINDOW_BYTES: Final = 256 * 1024

OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    *KEEPALIVE,
    *PERMITTED_PINGS,
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", STREAM_WINDOW_BYTES),
    # Two processes on one port would each get half of the calls, and nobody would notice.
    ("grpc.so_reuseport", 0),
)


@dataclass(frozen=True, slots=True)
class Servicer:
    """A servicer to add to a server: name of its gRPC service, function that adds it, function that ends watches.

    `drain` is called when the process begins to stop; endless streams must end then.
    """

    name: str
    add: Callable[[grpc.aio.Server], None]
    drain: Callable[[], None] | None = None

    @classmethod
    def of(cls, add: Callable[[ServicerT, grpc.aio.Server], None], implementation: ServicerT) -> Servicer:
        """Return the servicer for a generated `add_<Service>Servicer_to_server` function and an implementation."""
        package = add.__module__.rpartition(".")[0]
        service = add.__name__.removeprefix("add_").removesuffix("Servicer_to_server")
        return cls(f"{package}.{service}", partial(add, implementation))

    @classmethod
    def join(cls, add: Callable[[Any, grpc.aio.Server], None], *families: object) -> Servicer:
        """Return the servicer of a service whose methods are divided between several objects, the families.

        If a family has a method `drain`, it is called when the process begins to stop.

        Args:
            add: generated `add_<Service>Servicer_to_server`.
            families: objects with the methods; each method is in one of them.

        Raises:
            TypeError: a method of the service is in none of them, or in two.
        """
        service = add.__name__.removeprefix("add_").removesuffix("_to_server")
        base = getattr(sys.modules[add.__module__], service)
        joined = base()
        for method in [name for name in vars(base) if not name.startswith("_")]:
            having = [family for family in families if hasattr(family, method)]
            if len(having) != 1:
                names = ", ".join(type(family).__name__ for family in families)
                raise TypeError(f"{service}.{method} must be in one of {names}, not in {len(having)}")
            setattr(joined, method, getattr(having[0], method))
        drains = [drain for family in families if (drain := getattr(family, "drain", None)) is not None]
        servicer = cls.of(add, joined)

        def drain_all() -> None:
            for drain in drains:
                drain()

        return cls(servicer.name, servicer.add, drain_all if drains else None)


def build_server(
    settings: ServiceSettings,
    policy: Policy,
    *,
    keys: KeyStore | None = None,
    is_started: Callable[[], bool] = lambda: True,
) -> grpc.aio.Server:
    """Return a server with the interceptor of every service; the caller adds servicers and ports, and starts it.

    Args:
        settings: settings with the service's name (the tokens' audience) and its folder of keys.
        policy: policy of callers and methods.
        keys: keys that verify tokens; None: those of `settings.keys_dir`; without either, callers need no token.
        is_started: whether the servicers have their dependencies; until then calls are Unavailable.
    """
    if keys is None and settings.keys_dir is not None:
        keys = KeyStore(settings.keys_dir)
    interceptor = CallInterceptor(audience=settings.service_name(), keys=keys, policy=policy, is_started=is_started)
    return grpc.aio.server(interceptors=(interceptor,), options=OPTIONS)
