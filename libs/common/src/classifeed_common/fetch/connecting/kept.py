"""KeptConnections: idle connections that wait for the next request to their address."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import httpcore

from classifeed_common.fetch.addresses.networks import Address
from classifeed_common.fetch.addresses.urls import Link
from classifeed_common.fetch.models import KeepAlive

_SWEEP_EVERY_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Key:
    """Identity of a connection: TLS verified the name, and the guard checked the address."""

    scheme: str
    host: str
    port: int
    address: Address

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    key: _Key
    stream: httpcore.AsyncNetworkStream
    until_s: float


class KeptConnections:
    """Idle connections by scheme, name, port and checked address. For use in one event loop.

    A connection that received unrequested bytes, or that its peer closed, is never reused, and is closed within a
    second.

    Args:
        keep: limits; an `idle_s` of 0 keeps none.
    """

    def __init__(self, keep: KeepAlive) -> None:
        self._keep = keep
        self._connections: list[_Kept] = []  # the newest at the end
        self._timer: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._connections)

    @property
    def is_on(self) -> bool:
        """Whether connections are kept."""
        return self._keep.idle_s > 0 and not self._is_closed

    def take(self, link: Link, addresses: Collection[Address]) -> tuple[httpcore.AsyncNetworkStream, Address] | None:
        """Return a connection to one of the addresses; the caller closes it or puts it back.

        Args:
            link: URL whose scheme, name and port the connection must have.
            addresses: addresses that the check of this request allowed.
        """
        wanted = {_Key(link.scheme, link.host, link.port, address) for address in addresses}
        for kept in reversed([each for each in self._connections if each.key in wanted]):
            self._connections.remove(kept)
            if kept.until_s > asyncio.get_running_loop().time() and is_quiet(kept.stream):
                return kept.stream, kept.key.address
            self._drop(kept.stream)
        return None

    def put(self, link: Link, address: Address, stream: httpcore.AsyncNetworkStream) -> None:
        """Keep a connection whose last response was read to its end; the oldest ones make room for it."""
        if not self.is_on or not is_quiet(stream):
            self._drop(stream)
            return
        loop = asyncio.get_running_loop()
        key = _Key(link.scheme, link.host, link.port, address)
        of_host = [kept for kept in self._connections if kept.key.origin == key.origin]
        too_many = of_host[: max(0, len(of_host) + 1 - self._keep.per_host)]
        too_many += [kept for kept in self._connections if kept not in too_many][
            : max(0, len(self._connections) - len(too_many) + 1 - self._keep.overall)
        ]
        self._remove(too_many)
        self._connections.append(_Kept(key, stream, loop.time() + self._keep.idle_s))
        if self._timer is None:
            self._timer = loop.call_later(min(_SWEEP_EVERY_S, self._keep.idle_s), self._sweep)

    async def close(self) -> None:
        """Close all connections, and keep none from now on."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._remove(list(self._connections))
        await asyncio.gather(*self._closing)

    def _sweep(self) -> None:
        now_s = asyncio.get_running_loop().time()
        self._remove([kept for kept in self._connections if kept.until_s <= now_s or not is_quiet(kept.stream)])
        self._timer = None
        if self._connections:
            delay_s = min(_SWEEP_EVERY_S, self._keep.idle_s)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._sweep)

    def _remove(self, connections: list[_Kept]) -> None:
        for kept in connections:
            self._connections.remove(kept)
            self._drop(kept.stream)

    def _drop(self, stream: httpcore.AsyncNetworkStream) -> None:
        task = asyncio.get_running_loop().create_task(stream.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def is_quiet(stream: httpcore.AsyncNetworkStream) -> bool:
    """Return whether a connection has nothing to read: neither bytes nor its end."""
    if stream.get_extra_info("is_readable"):
        return False
    tls: ssl.SSLObject | None = stream.get_extra_info("ssl_object")
    if tls is None:
        return True
    try:
        tls.read(1)  # bytes that came with the last response and are still unread
    except ssl.SSLWantReadError:
        return True
    except (ssl.SSLError, OSError):
        return False
    return False
