"""Free TCP ports on loopback that stay free while a server restarts."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Collection
from typing import Final

# Below Linux's range for ports of outgoing connections (from 32768): a client's connection cannot take the port of a
# server that is restarting.
_FIRST, _LAST = 15000, 32000
# Replaces the range ("first-last"), so that processes that start many servers do not draw the same port.
RANGE_VARIABLE: Final = "CLASSIFEED_PORT_RANGE"


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether a server could bind `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def pick_free_port(taken: Collection[int] = ()) -> int:
    """Return a loopback port that is unused and not in `taken`.

    The port is not reserved: bind it soon. Two processes that pick at the same time draw from 17,000 ports at random,
    so a clash is rare; it ends as a start error that names the port. CLASSIFEED_PORT_RANGE ("15000-17999") separates
    processes.

    Raises:
        OSError: 200 random draws found no free port.
        ValueError: CLASSIFEED_PORT_RANGE is no range.
    """
    first, last = _range()
    draw = random.Random(os.urandom(8))  # noqa: S311 - spreads, does not protect
    for _ in range(200):
        port = draw.randint(first, last)
        if port not in taken and is_free(port):
            return port
    raise OSError(f"no free TCP port between {first} and {last} on 127.0.0.1: close servers that are not needed")


def range_of_part(part: int, parts: int) -> str:
    """Return the range of the `part`-th of `parts` processes, from 0, in the form of CLASSIFEED_PORT_RANGE."""
    size = (_LAST - _FIRST + 1) // parts
    return f"{_FIRST + part * size}-{_FIRST + (part + 1) * size - 1}"


def _range() -> tuple[int, int]:
    text = os.environ.get(RANGE_VARIABLE)
    if not text:
        return _FIRST, _LAST
    first, _, last = text.partition("-")
    try:
        return int(first), int(last)
    except ValueError:
        raise ValueError(f"{RANGE_VARIABLE} is {text!r}: write it as first-last, for example 15000-17999") from None
