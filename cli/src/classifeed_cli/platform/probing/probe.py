"""A minimal HTTP GET over asyncio, for the supervisor's probes of services, without a client library in memory."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

_LIMIT_BYTES = 4 * 1024 * 1024


async def http_get(address: str, path: str, timeout_s: float = 3.0) -> tuple[int, bytes] | None:
    """Return status and body of `http://address/path`; None if there is no response within the timeout."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _get(address, path)
    except (TimeoutError, OSError, ValueError, IndexError):
        return None


async def is_ready(address: str) -> bool:
    """Return whether a service reports that it is ready for calls."""
    response = await http_get(address, "/health/ready", timeout_s=2.0)
    return response is not None and response[0] == 200


@dataclass(frozen=True, slots=True)
class Readiness:
    """The readiness report of a service.

    Attributes:
        is_ready: Whether it accepts calls.
        problems: Missing dependencies and blocked work: a text that begins with their name, and the start time (empty
            if the service does not report it).
    """

    is_ready: bool
    problems: tuple[tuple[str, str], ...]


async def get_readiness(address: str) -> Readiness | None:
    """Return the readiness report of a service; None if it does not respond within the timeout."""
    response = await http_get(address, "/health/ready")
    try:
        readiness = json.loads(response[1]) if response is not None else None
    except ValueError:
        return None
    if response is None or not isinstance(readiness, dict):
        return None
    since = readiness.get("since", {})
    problems = [(f"{name}: {fault}", since.get(name, "")) for name, fault in readiness.get("missing", {}).items()]
    blocked = readiness.get("blocked", {})
    if problems and blocked:  # most blocked work is a consequence of the problems, so it is shortened
        waiting = ", ".join(f"{role} ({', '.join(items)})" for role, items in blocked.items())
        problems.append((f"blocked meanwhile: {waiting}", ""))
    else:
        for role, items in blocked.items():
            problems += [(f"{role}: {what}: {why}", since.get(f"{role}: {what}", "")) for what, why in items.items()]
    if response[0] != 200 and not problems:
        problems = [("starting or draining", "")]
    return Readiness(response[0] == 200, tuple(problems))


async def _get(address: str, path: str) -> tuple[int, bytes]:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        content = await reader.read(_LIMIT_BYTES)
        while chunk := await reader.read(65536):
            content += chunk
            if len(content) > _LIMIT_BYTES:
                raise ValueError("response too long")
    finally:
        writer.close()
    head, _, body = content.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body
