"""Free TCP ports on loopback that stay free while a server restarts."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Collection

# Below the range from which Linux takes ports of outgoing connections (32768 up): a client's connection can then not
# sit on the port of a server that is just being restarted.
_FIRST, _LAST = 15000, 32000


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """True when a server could bind `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def pick_free_port(taken: Collection[int] = ()) -> int:
    """A loopback port that nobody listens on and that is not in `taken`.

    The port is not reserved: a server should bind it soon. Two processes that pick at the same time draw from
    17,000 ports at random, so a clash is rare and ends as a start error that names the port.

    Raises:
        OSError: when 200 random draws found none.
    """
    draw = random.Random(os.urandom(8))  # noqa: S311 - spreads, does not protect
    for _ in range(200):
        port = draw.randint(_FIRST, _LAST)
        if port not in taken and is_free(port):
            return port
    raise OSError(f"no free TCP port between {_FIRST} and {_LAST} on 127.0.0.1: close servers that are not needed")
