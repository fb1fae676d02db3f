"""Decides which addresses belong to the public internet.

`ipaddress.is_global` is not enough: it accepts 64:ff9b::a9fe:a9fe (169.254.169.254 behind NAT64), 2002:7f00:1::
(127.0.0.1 in 6to4), ::127.0.0.1 and 224.0.0.1 (ADR 0019).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address

# Networks outside the public internet: the IANA registry of special addresses (RFC 6890, successors), and cloud
# metadata.
_SPECIAL_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network; 0.0.0.0 is this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carriers' NAT; also the metadata of one cloud
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # metadata and DNS of one cloud, in a public range
        "169.254.0.0/16",  # link local, metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; also the metadata of one cloud
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # multicast relays
        "192.88.99.0/24",  # 6to4 relays, abandoned
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_UNICAST_V6: Final = IPv6Network("2000::/3")
# Special networks inside 2000::/3; all addresses outside of it are refused (loopback, ULA, link-local, multicast).
_SPECIAL_V6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, abandoned
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # 6bone, given back
        "3fff::/20",  # documentation
    )
)
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)


def parse_address(text: str) -> Address | None:
    """Return the address in a text; None if it is no address, or has a zone."""
    if "%" in text:
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Return whether an address belongs to the public internet.

    An IPv4 address inside an IPv6 address is checked too. For mapped and NAT64 addresses it alone decides. Other ways
    to embed one (compatible, 6to4, Teredo, local NAT64) are abandoned or private, and always refused. A NAT64 prefix
    that a network chose for its own use cannot be recognised.
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    if address.scope_id is not None:
        return False
    if address in _MAPPED or address in _NAT64:
        return is_public(_last_32_bits(address))
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP and not is_public(_last_32_bits(address)):
        return False
    return address in _UNICAST_V6 and not any(address in network for network in _SPECIAL_V6)


def is_loopback(address: Address) -> bool:
    """Return whether an address is in 127.0.0.0/8 or ::1, in this notation."""
    return address.is_loopback and not (isinstance(address, IPv6Address) and address.ipv4_mapped)


def _last_32_bits(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)
