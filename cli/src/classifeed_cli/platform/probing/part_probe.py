"""Probes of embedded servers: one small request in the server's protocol, without a client library in memory.

A stopped server refuses the connection. A suspended server accepts it but never responds. A server that is starting or
has no capacity responds with an error. Client libraries distinguish these cases only after long timeouts.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

LIMIT_S: Final = 2.0
_PROTOCOL: Final = 196_608  # PostgreSQL's version 3.0
_API_VERSIONS: Final = 18  # the Kafka request whose first version every broker supports
_CORRELATION_ID: Final = 1

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Refusal(Exception):
    """The server responds with an error; the text is its reason."""


async def find_fault(part: str, address: str) -> str | None:
    """Return why a part does not work; None if it responds correctly. Takes at most 2 s.

    Args:
        part: Name of the part: postgres, kafka or s3.
        address: Address of the server, host:port.
    """
    try:
        async with asyncio.timeout(LIMIT_S):
            await _connect(address, _PROBES[part])
    except TimeoutError:
        return f"does not respond within {LIMIT_S:g} s"
    except ConnectionRefusedError:
        return f"nothing listens on {address}"
    except (OSError, ValueError, asyncio.IncompleteReadError):
        return "closes connections without a response"
    except Refusal as refusal:
        return f"refuses work: {refusal}"
    return None


async def _connect(address: str, probe: Callable[[Streams, str], Awaitable[None]]) -> None:
    host, _, port = address.rpartition(":")
    streams = await asyncio.open_connection(host, int(port))
    try:
        await probe(streams, address)
    finally:
        streams[1].close()


async def _probe_postgres(streams: Streams, _: str) -> None:
    """Begin a session and close it after the server's first message, which shows that it can serve a session."""
    reader, writer = streams
    body = struct.pack("!i", _PROTOCOL) + b"user\0postgres\0database\0postgres\0\0"
    writer.write(struct.pack("!i", len(body) + 4) + body)
    kind = await reader.readexactly(1)
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    if kind == b"E":
        fields = (await reader.readexactly(length - 4)).split(b"\0")
        raise Refusal(next((each[1:].decode(errors="replace") for each in fields if each[:1] == b"M"), "an error"))
    if kind != b"R":  # an authentication request
        raise Refusal("what listens there is not PostgreSQL")


async def _probe_kafka(streams: Streams, _: str) -> None:
    reader, writer = streams
    client = b"status"
    body = struct.pack("!hhih", _API_VERSIONS, 0, _CORRELATION_ID, len(client)) + client
    writer.write(struct.pack("!i", len(body)) + body)
    _, correlation_id = struct.unpack("!ii", await reader.readexactly(8))
    if correlation_id != _CORRELATION_ID:
        raise Refusal("what listens there is not Kafka")


async def _probe_s3(streams: Streams, address: str) -> None:
    reader, writer = streams
    writer.write(f"GET / HTTP/1.0\r\nHost: {address}\r\n\r\n".encode())
    words = (await reader.readline()).split()
    if len(words) < 2 or not words[1].isdigit():
        raise Refusal("what listens there does not speak HTTP")
    if int(words[1]) >= 500:
        raise Refusal(f"HTTP {int(words[1])}")


_PROBES: Final[Mapping[str, Callable[[Streams, str], Awaitable[None]]]] = {
    "postgres": _probe_postgres,
    "kafka": _probe_kafka,
    "s3": _probe_s3,
}
