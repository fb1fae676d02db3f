"""One small HTTP GET over asyncio: what the supervisor asks services with, without a client library in its memory."""

from __future__ import annotations

import asyncio
import json
from typing import Any

_LIMIT_BYTES = 4 * 1024 * 1024


async def http_get(address: str, path: str, timeout_s: float = 3.0) -> tuple[int, bytes] | None:
    """Status and body of `http://address/path`; None when nobody answers in time."""
    try:
        return await asyncio.wait_for(_get(address, path), timeout_s)
    except (TimeoutError, OSError, ValueError, IndexError):
        return None


async def get_json(address: str, path: str, timeout_s: float = 3.0) -> dict[str, Any] | None:
    """The JSON object that a path answers with 200; None otherwise."""
    answer = await http_get(address, path, timeout_s)
    if answer is None or answer[0] != 200:
        return None
    try:
        content = json.loads(answer[1])
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


async def is_ready(address: str) -> bool:
    """Whether a service says that it is ready for calls."""
    answer = await http_get(address, "/health/ready", timeout_s=2.0)
    return answer is not None and answer[0] == 200


async def get_readiness(address: str) -> tuple[bool, list[str]]:
    """Whether a service is ready for calls, and in words what it misses or cannot go on with.

    A service that does not answer in time is not ready, and that is its one problem.
    """
    answer = await http_get(address, "/health/ready")
    try:
        told = json.loads(answer[1]) if answer is not None else {}
    except ValueError:
        told = {}
    if answer is None or not isinstance(told, dict):
        return False, ["does not answer /health/ready"]
    problems = [f"{name}: {fault}" for name, fault in told.get("missing", {}).items()]
    for role, items in told.get("blocked", {}).items():
        problems += [f"{role}: {what}: {why}" for what, why in items.items()]
    return answer[0] == 200, problems


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
                raise ValueError("answer too long")
    finally:
        writer.close()
    head, _, body = content.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body
