"""HTTP clients on persistent connections, in their own process: `python -m bench.pictures.client < PLAN`.

They parse only what they need to find the end of a response, since they share cores with the server.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, cast

_LIMIT_S: Final = 300.0


@dataclass(frozen=True)
class Plan:
    """Requests to send.

    Attributes:
        addresses: Servers as host:port, used in turn.
        paths: Paths, requested in turn.
        count: Number of requests on all connections together.
        connections: Number of connections to all servers together.
        rate: Requests a second on all connections together; 0: each connection sends a request after each response.
    """

    addresses: Sequence[str]
    paths: Sequence[str]
    count: int
    connections: int
    rate: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """Figures of a plan.

    Attributes:
        seconds: Seconds for all requests.
        cpu_s: CPU of the clients in seconds.
        size_bytes: Size of the last body.
        waits_ms: Milliseconds from the due time of each request to the end of its response, sorted.
    """

    seconds: float
    cpu_s: float
    size_bytes: int
    waits_ms: list[float]

    def quantile_ms(self, share: float) -> float:
        """Return the quantile of the waits, in milliseconds."""
        return self.waits_ms[min(int(len(self.waits_ms) * share), len(self.waits_ms) - 1)]


def request(plan: Plan) -> Outcome:
    """Send the requests of a plan.

    Raises:
        RuntimeError: a response had another status than 200.
    """
    # The plan goes to stdin: an argument of a command has at most 128 KB.
    command = [sys.executable, "-m", "bench.pictures.client"]
    plan_text = json.dumps(asdict(plan))
    ran = subprocess.run(command, input=plan_text, check=False, capture_output=True, text=True, timeout=_LIMIT_S)
    if ran.returncode:
        raise RuntimeError(ran.stderr[-2000:])
    return Outcome(**json.loads(ran.stdout))


class _Client(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, requests: Sequence[bytes], due_s: Sequence[float], waits: list[float]) -> None:
        self._requests = requests
        self._due_s = due_s
        self._waits = waits
        self._sent = 0
        self._left = 0
        self._head = b""
        self._at_s = 0.0
        self.size_bytes = 0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(exc or ConnectionError("the server closed the connection"))

    def begin(self, began_s: float) -> None:
        """Send the first request."""
        self._began_s = began_s
        self._next()

    def data_received(self, data: bytes) -> None:
        if not self._left:
            self._head += data
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._head[:end].lower()
            if not head.startswith(b"http/1.1 200"):
                self.ended.set_exception(RuntimeError(self._head[:300].decode("latin-1")))
                return
            start = head.index(b"content-length:") + len(b"content-length:")
            self.size_bytes = int(head[start:].split(b"\r\n", 1)[0])
            self._left = self.size_bytes - (len(self._head) - end - 4)
            self._head = b""
        else:
            self._left -= len(data)
        if not self._left:
            self._waits.append((time.perf_counter() - self._at_s) * 1e3)
            self._next()

    def _next(self) -> None:
        if self._sent == len(self._requests):
            self.ended.set_result(None)
            return
        if self._due_s:
            self._at_s = self._began_s + self._due_s[self._sent]
            wait_s = self._at_s - time.perf_counter()
            if wait_s > 0:
                asyncio.get_running_loop().call_later(wait_s, self._send)
                return
        else:
            self._at_s = time.perf_counter()
        self._send()

    def _send(self) -> None:
        if self._due_s:  # a late timer of this process is not the server's latency
            self._at_s = max(self._at_s, time.perf_counter())
        self._transport.write(self._requests[self._sent])
        self._sent += 1


async def _run(plan: Plan) -> Outcome:
    loop = asyncio.get_running_loop()
    waits: list[float] = []
    clients = []
    for number in range(plan.connections):
        address = plan.addresses[number % len(plan.addresses)]
        host, port = address.rsplit(":", 1)
        mine = range(number, plan.count, plan.connections)
        requests = [
            f"GET {plan.paths[each % len(plan.paths)]} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode() for each in mine
        ]
        due_s = [each / plan.rate for each in mine] if plan.rate else []

        def client(requests: Sequence[bytes] = requests, due_s: Sequence[float] = due_s) -> _Client:
            return _Client(requests, due_s, waits)

        _, made = await loop.create_connection(client, host, int(port))
        clients.append(made)
    cpu_s, began_s = time.process_time(), time.perf_counter()
    for each in clients:
        each.begin(began_s)
    await asyncio.gather(*(each.ended for each in clients))
    seconds = time.perf_counter() - began_s
    return Outcome(seconds, time.process_time() - cpu_s, clients[0].size_bytes, sorted(waits))


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(_run(Plan(**json.load(sys.stdin)))))))
