"""Strict parsing of sellers' URLs, before any look-up."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import quote, urlsplit

import idna

from classifeed_common.fetch.addresses.networks import Address, is_loopback, is_public, parse_address
from classifeed_common.fetch.addresses.ports import is_open_port
from classifeed_common.fetch.failed import FetchFailed

_MAX_CHARS: Final = 2048
_MAX_HOST_CHARS: Final = 253
_SHOWN_CHARS: Final = 200
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# The last label of a name is never a number: resolvers read "127.1", "2130706433" and "0x7f.1" as addresses.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
# Controls, format characters (zero-width ones), surrogates, private use, unassigned, and spaces of all kinds.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
_AFTER_HOST: Final = frozenset("/?#")
_SAFE: Final = "!$%&'()*+,-./:;=?@[]_~"
_NOT_WEB: Final = "The link does not begin with http:// or https://"


@dataclass(frozen=True, slots=True)
class Link:
    """A URL that passed `check_url`.

    Attributes:
        scheme: http or https.
        host: name in ASCII and lower case, without a trailing dot; or an address, IPv6 without brackets.
        port: port in the URL, or the scheme's.
        target: path and query as they are sent; ASCII.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def address(self) -> Address | None:
        """The address, if the host is one; otherwise None."""
        return parse_address(self.host)

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: the origin that the seller's secrets are meant for."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Host and port as in the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """The URL for messages: without the query, which may hold a key of the seller, and shortened."""
        text = f"{self.scheme}://{self.authority}{self.target.partition('?')[0]}"
        return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def check_url(url: str, *, allow_loopback: bool = False) -> Link:
    """Return the parts of a URL that may be resolved; does not resolve, so that a form can check its field.

    Args:
        url: absolute URL from a user or a redirect.
        allow_loopback: whether loopback addresses are allowed, and every port of them and of names.

    Raises:
        FetchFailed: URL_INVALID, URL_SCHEME, URL_HAS_CREDENTIALS, URL_PORT or ADDRESS_REFUSED.
    """
    if not 0 < len(url) <= _MAX_CHARS:
        raise FetchFailed("URL_INVALID", f"The link has {len(url)} characters, and 1 to {_MAX_CHARS} are allowed")
    if any(unicodedata.category(char) in _UNSEEN for char in url):
        raise FetchFailed("URL_INVALID", "The link contains a space or an invisible character")
    if "\\" in url:
        raise FetchFailed("URL_INVALID", "The link contains a backslash")
    scheme, colon, rest = url.partition(":")
    scheme = scheme.lower()
    if not colon or not rest.startswith("//"):
        raise FetchFailed("URL_INVALID" if scheme in _DEFAULT_PORTS or not colon else "URL_SCHEME", _NOT_WEB)
    if scheme not in _DEFAULT_PORTS:
        raise FetchFailed("URL_SCHEME", _NOT_WEB)
    authority, target = _cut(rest[2:])
    if "@" in authority:
        raise FetchFailed("URL_HAS_CREDENTIALS", "The link contains a user name or a password")
    host, port = _split(authority, _DEFAULT_PORTS[scheme])
    link = Link(scheme, host, port, target)
    address = link.address
    if address is not None and not is_public(address) and not (allow_loopback and is_loopback(address)):
        raise FetchFailed("ADDRESS_REFUSED", f"{host} is not an address of the public internet")
    if address is None and _is_inner_name(host) and not (allow_loopback and is_loopback_name(host)):
        raise FetchFailed("ADDRESS_REFUSED", f"{host[:_SHOWN_CHARS]} is a name inside of a private network")
    if not allow_loopback or (address is not None and not is_loopback(address)):
        check_port(port)
    return link


def check_port(port: int) -> None:
    """Return if feeds may be fetched from this port.

    Raises:
        FetchFailed: URL_PORT.
    """
    if not is_open_port(port):
        raise FetchFailed("URL_PORT", f"The link names the port {port}, where no web server is expected")


def is_loopback_name(name: str) -> bool:
    """Return whether a name means this machine (RFC 6761)."""
    return name == "localhost" or name.endswith(".localhost")


def _is_inner_name(name: str) -> bool:
    return "." not in name or is_loopback_name(name)


def _cut(rest: str) -> tuple[str, str]:
    """Split the text after the two slashes into authority and target (path and query as they are sent)."""
    end = next((at for at, char in enumerate(rest) if char in _AFTER_HOST), len(rest))
    target = quote(rest[end:].partition("#")[0], safe=_SAFE)
    return rest[:end], target if target.startswith("/") else f"/{target}"


def _split(text: str, default_port: int) -> tuple[str, int]:
    """Return host and port of an authority without user and password."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise FetchFailed("URL_INVALID", "The link cannot be read: its host is malformed")
        return _literal_v6(host), _port_of(rest[1:], default_port)
    host, _, port = text.partition(":")
    return _name_of(host), _port_of(port, default_port)


def _port_of(text: str, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) <= 65535):
        raise FetchFailed("URL_INVALID", "The port in the link is not a number from 1 to 65535")
    return int(text)


def _literal_v6(text: str) -> str:
    address = parse_address(text)
    if not isinstance(address, IPv6Address) or "." in text:
        raise FetchFailed("ADDRESS_REFUSED", f"[{text[:_SHOWN_CHARS]}] is not an address in its plain spelling")
    return str(address)


def _name_of(text: str) -> str:
    """Return a host name in ASCII, or an IPv4 address in its only accepted spelling."""
    name = text.lower()
    if not text.isascii():
        try:
            name = idna.encode(text, uts46=True, transitional=False).decode("ascii").lower()
        except (idna.IDNAError, UnicodeError) as error:
            raise FetchFailed("URL_INVALID", f"{text[:_SHOWN_CHARS]} is not a host name") from error
        if _is_number(name):
            raise FetchFailed("ADDRESS_REFUSED", "The host of the link is an address in letters of another script")
    if _is_number(name):
        if not isinstance(parse_address(name), IPv4Address):
            raise FetchFailed(
                "ADDRESS_REFUSED", f"{text[:_SHOWN_CHARS]} is an address that is not in its plain spelling"
            )
        return name
    name = name.removesuffix(".")
    if len(name) > _MAX_HOST_CHARS or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise FetchFailed("URL_INVALID", f"{text[:_SHOWN_CHARS] or 'The link'} has no proper host name")
    return name


def _is_number(name: str) -> bool:
    return bool(_NUMBER.fullmatch(name.removesuffix(".").rpartition(".")[2]))


def host_of(url: str) -> str:
    """Return the host in a URL that was not checked, in lower case; empty if there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
