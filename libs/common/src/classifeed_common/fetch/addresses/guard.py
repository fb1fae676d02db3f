"""AddressGuard: from a link to the addresses that may be dialled. Nothing else in the suite looks up an outer name."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from classifeed_common.fetch.addresses.look_ups import LookUps
from classifeed_common.fetch.addresses.networks import Address, is_loopback, is_public, parse_address
from classifeed_common.fetch.addresses.urls import Link, check_port, check_url, is_loopback_name
from classifeed_common.fetch.failed import FetchFailed

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the addresses of a name, at least one, as text; raises `socket.gaierror`, or `TimeoutError`."""

_PASSING: Final = frozenset({socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_MEMORY, socket.EAI_SYSTEM})


class AddressGuard:
    """Says which addresses a link leads to, and refuses those that are not of the public internet.

    Whoever dials must dial what `resolve` returned and never look the name up again: another result may come.

    Args:
        allow_loopback: for tests and a suite on one machine: 127.0.0.0/8 and ::1 pass, at any port. Nothing else does.
        resolver: looks names up; the system's unless given.
        look_ups: runs the system's, in threads; those of the default size unless given. Closed by `close`.
    """

    def __init__(
        self, *, allow_loopback: bool = False, resolver: Resolver | None = None, look_ups: LookUps | None = None
    ) -> None:
        self._allow_loopback = allow_loopback
        self._look_ups = look_ups or LookUps()
        self._resolver = resolver

    def check_url(self, url: str) -> Link:
        """Return the parts of a link; calls no resolver.

        Raises:
            FetchFailed: as `classifeed_common.fetch.check_url`.
        """
        return check_url(url, allow_loopback=self._allow_loopback)

    async def resolve(self, link: Link, *, owner: str = "") -> list[Address]:
        """Return where to connect to for a link, best first. Calls the resolver once, in the owner's share of threads.

        Raises:
            FetchFailed: ADDRESS_REFUSED if any of the addresses is refused, DNS_NOT_FOUND, DNS_FAILED, URL_PORT.
        """
        literal = link.address
        resolved = [literal] if literal is not None else await self._look_up(link, owner)
        addresses = list(dict.fromkeys(address for address in resolved if address and self._is_allowed(address)))
        # Which address was refused stays untold: a seller shall not learn what our resolver knows about the inside.
        if len(addresses) < len(set(resolved)):
            raise FetchFailed("ADDRESS_REFUSED", f"{link.host} leads to addresses outside of the public internet")
        if not all(is_loopback(address) for address in addresses):
            check_port(link.port)
        return addresses

    def close(self) -> None:
        """End the look-ups; does not wait for them."""
        self._look_ups.close()

    def _is_allowed(self, address: Address) -> bool:
        return is_public(address) or (self._allow_loopback and is_loopback(address))

    async def _look_up(self, link: Link, owner: str) -> list[Address | None]:
        try:
            if self._resolver is not None:
                resolved = await self._resolver(link.host)
            else:
                resolved = await self._ask_system(link.host, owner)
        except (socket.gaierror, UnicodeError) as error:
            if isinstance(error, socket.gaierror) and error.errno in _PASSING:
                raise FetchFailed("DNS_FAILED", f"The name servers of {link.host} did not respond") from error
            raise FetchFailed("DNS_NOT_FOUND", f"The host {link.host} is not known") from error
        if not resolved:
            raise FetchFailed("DNS_NOT_FOUND", f"The host {link.host} has no address")
        return [parse_address(address) for address in resolved]

    async def _ask_system(self, name: str, owner: str) -> Sequence[str]:
        # With a dot at its end a name is absolute: the machine's search list could make an inner name of it.
        absolute = name if is_loopback_name(name) else f"{name}."
        found = await self._look_ups.run(owner, lambda: socket.getaddrinfo(absolute, None, type=socket.SOCK_STREAM))
        return [str(address[0]) for *_, address in found]
