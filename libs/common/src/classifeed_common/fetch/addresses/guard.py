"""AddressGuard: resolves a URL to addresses that may be dialled. No other code of the suite resolves external names."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from classifeed_common.fetch.addresses.look_ups import LookUps
from classifeed_common.fetch.addresses.networks import Address, is_loopback, is_public, parse_address
from classifeed_common.fetch.addresses.urls import Link, check_port, check_url, is_loopback_name
from classifeed_common.fetch.failed import FetchFailed

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Function that returns the addresses of a name as text, at least one; raises `socket.gaierror` or `TimeoutError`."""

_PASSING: Final = frozenset({socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_MEMORY, socket.EAI_SYSTEM})


class AddressGuard:
    """Resolves URLs, and refuses addresses outside the public internet.

    Dial an address that `resolve` returned, and never resolve the name again: the result may differ.

    Args:
        allow_loopback: whether 127.0.0.0/8 and ::1 are allowed too, at any port; for tests and a suite on one machine.
        resolver: resolver of names; None: the system's.
        look_ups: threads for the system's resolver; None: the default number. Closed by `close`.
    """

    def __init__(
        self, *, allow_loopback: bool = False, resolver: Resolver | None = None, look_ups: LookUps | None = None
    ) -> None:
        self._allow_loopback = allow_loopback
        self._look_ups = look_ups or LookUps()
        self._resolver = resolver

    def check_url(self, url: str) -> Link:
        """Return the parts of a URL; does not resolve.

        Raises:
            FetchFailed: see `classifeed_common.fetch.check_url`.
        """
        return check_url(url, allow_loopback=self._allow_loopback)

    async def resolve(self, link: Link, *, owner: str = "") -> list[Address]:
        """Return the addresses of a URL, best first. Resolves once, in the owner's share of threads.

        Raises:
            FetchFailed: ADDRESS_REFUSED if any of the addresses is refused, DNS_NOT_FOUND, DNS_FAILED, URL_PORT.
        """
        literal = link.address
        resolved = [literal] if literal is not None else await self._look_up(link, owner)
        addresses = list(dict.fromkeys(address for address in resolved if address and self._is_allowed(address)))
        # The message hides which address was refused: sellers must not learn our resolver's view of the internal
        # network.
        if len(addresses) < len(set(resolved)):
            raise FetchFailed("ADDRESS_REFUSED", f"{link.host} leads to addresses outside of the public internet")
        if not all(is_loopback(address) for address in addresses):
            check_port(link.port)
        return addresses

    def close(self) -> None:
        """Cancel the look-ups without waiting for them."""
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
        # A trailing dot makes a name absolute: otherwise the machine's search list could turn it into an internal name.
        absolute = name if is_loopback_name(name) else f"{name}."
        found = await self._look_ups.run(owner, lambda: socket.getaddrinfo(absolute, None, type=socket.SOCK_STREAM))
        return [str(address[0]) for *_, address in found]
