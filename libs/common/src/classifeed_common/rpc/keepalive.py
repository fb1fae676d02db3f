"""Keepalive of gRPC connections: a silent peer is noticed within 22 s, also by calls without a deadline."""

from __future__ import annotations

from typing import Final

PING_EVERY_S: Final = 12
PING_LIMIT_S: Final = 10
# Well below the interval: a ping may come early, and a server closes the connection of a client that pings too often.
PERMITTED_EVERY_S: Final = 5

KEEPALIVE: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.keepalive_time_ms", PING_EVERY_S * 1000),
    ("grpc.keepalive_timeout_ms", PING_LIMIT_S * 1000),
    # The effective limit while TCP still acknowledges: by default 60 s, independent of keepalive_timeout_ms (1.85).
    ("grpc.http2.ping_timeout_ms", PING_LIMIT_S * 1000),
    # Also between calls, so that the next call finds a working connection.
    ("grpc.keepalive_permit_without_calls", 1),
    # Without this, a stream without traffic is pinged only twice, and then hardly ever.
    ("grpc.http2.max_pings_without_data", 0),
)
"""Options of channels and servers."""

PERMITTED_PINGS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.http2.min_ping_interval_without_data_ms", PERMITTED_EVERY_S * 1000),
)
"""Options of servers: the pings that a client may send."""
