"""Keepalive of gRPC connections: a peer that is silent is noticed within 22 s, by calls without a deadline too."""

from __future__ import annotations

from typing import Final

PING_EVERY_S: Final = 12
PING_LIMIT_S: Final = 10
# Well below the interval: a ping may come early, and a server closes the connection of a client that pings too often.
PERMITTED_EVERY_S: Final = 5

KEEPALIVE: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.keepalive_time_ms", PING_EVERY_S * 1000),
    ("grpc.keepalive_timeout_ms", PING_LIMIT_S * 1000),
    # The limit that counts where TCP still acknowledges: 60 s by default, whatever keepalive_timeout_ms says (1.85).
    ("grpc.http2.ping_timeout_ms", PING_LIMIT_S * 1000),
    # Between calls too: the next call finds a connection that works.
    ("grpc.keepalive_permit_without_calls", 1),
    # Otherwise a stream on which nothing is sent is pinged twice, and then hardly ever.
    ("grpc.http2.max_pings_without_data", 0),
)
"""Options of channels and of servers."""

PERMITTED_PINGS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.http2.min_ping_interval_without_data_ms", PERMITTED_EVERY_S * 1000),
)
"""Options of servers: how often a client may ping."""
