"""Ports of public addresses that may be connected to.

Allowed are 80, 443 and the unprivileged ports (from 1024), except for ports of services other than web servers. Such
services never serve a feed. Text protocols may read commands out of HTTP headers, so a seller could attack them
through us.
"""

from __future__ import annotations

from typing import Final

_WEB: Final = frozenset({80, 443})
_LOWEST_OPEN: Final = 1024
_HIGHEST: Final = 65535
_NOT_WEB: Final = frozenset({
    # the bad ports of the WHATWG Fetch standard
    1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    # databases, caches, queues
    1433, 1521, 3306, 5432, 5433, 5984, 6379, 6380, 6432, 7687, 8086, 9042, 9160, 9200, 9300, 11211, 16379, 26379,
    27017, 27018, 27019, 28017, 50000, 1883, 8883, 4369, 4222, 5671, 5672, 15672, 25672, 61613, 61616, 9092, 9093, 9094,
    # orchestration and discovery
    2181, 2375, 2376, 2377, 2379, 2380, 4001, 6443, 8300, 8301, 8302, 8500, 8600, 10248, 10249, 10250, 10255, 10256,
    # remote hands and shares
    1080, 3128, 3260, 3389, 5900, 5901, 5985, 5986, 1099, 9999, 11111,
})  # fmt: skip


def is_open_port(port: int) -> bool:
    """Return whether a feed may be fetched from this port of a public address."""
    return port in _WEB or (_LOWEST_OPEN <= port <= _HIGHEST and port not in _NOT_WEB)
