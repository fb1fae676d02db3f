"""The searcher in its own process, and its callers."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import cycle, repeat
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, NamedTuple, Self, cast

import grpc.aio
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub

from bench.kit.cpu import cpu_of_tree
from bench.search.queries import PAGE, Query
from bench.search.timing import Times, times_of
from classifeed.search.v1.search_service_pb2 import SearchRequest
from classifeed.search.v1.search_service_pb2_grpc import SearchServiceStub
from classifeed_common.auth import KeyStore
from classifeed_common.auth.policy import OPERATOR
from classifeed_common.rpc.client import open_channel
from classifeed_offers.domain.documents import CLIENT

_CALLERS: Final = 8
_ROUNDS: Final = 3
_INDEXING_SHARE: Final = 0.5
_EMPTY: Final = HealthCheckRequest()

Call = Callable[[], Awaitable[Any]]


class Searcher:
    """The service with a new index of `documents`; a context manager that stops it at the end."""

    def __init__(self, folder: Path, keys: Path, documents: int) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "bench.search.service", str(folder), str(keys), str(documents)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = json.loads(cast(IO[str], self._process.stdout).readline())
        self.target = f"127.0.0.1:{ready['port']}"
        self.filled_s = float(ready["filled_s"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        cast(IO[str], self._process.stdin).close()
        self._process.wait()

    def command(self, line: str) -> int:
        """Send a line to the service; return how many changed documents it has indexed so far."""
        stdin = cast(IO[str], self._process.stdin)
        stdin.write(f"{line}\n")
        stdin.flush()
        return int(json.loads(cast(IO[str], self._process.stdout).readline())["taken"])

    def cpu_s(self) -> float:
        """Return the seconds of CPU of the service."""
        return cpu_of_tree(self._process.pid)


class Caller:
    """A side of the comparison: sends one call at a time."""

    def __init__(self, target: str, keys: KeyStore) -> None:
        self._runner = asyncio.Runner()
        self._channel = self._run(_open(target, keys))
        self._search = SearchServiceStub(self._channel)
        self._health = HealthStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._run(self._channel.close())
        self._runner.close()

    def search(self, query: Query) -> int:
        """Search; return the number of matches."""
        return int(self._run(_await(self._search.Search(request_of(query)))).total)

    @property
    def empty(self) -> EmptyCall:
        """A side that makes an empty call on the same channel."""
        return EmptyCall(lambda: self._run(_await(self._health.Check(_EMPTY))))  # type: ignore[attr-defined]

    def _run(self, call: Any) -> Any:
        return self._runner.run(call)


class EmptyCall:
    """A side that makes an empty call instead of each search."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call

    def search(self, query: Query) -> int:
        """Make the empty call; return 0."""
        self._call()
        return 0


class Rate(NamedTuple):
    """Figures of callers.

    Attributes:
        calls_s: calls a second.
        times: times of the calls.
        searcher_us: CPU of the searcher in µs a call.
        caller_us: CPU of the callers' process in µs a call.
    """

    calls_s: float
    times: Times
    searcher_us: float
    caller_us: float


def request_of(query: Query) -> SearchRequest:
    """Return a query as a request to the searcher."""
    request = SearchRequest(client=CLIENT, query=query.text, page_size=PAGE, bodies=True)
    if query.bounds:
        low, high = query.bounds
        request.conditions.append(f"price:[{low} TO {high}]")
    if query.sorted:
        request.sort.field = "price"
    return request


async def measure_calls(
    searcher: Searcher, keys: KeyStore, queries: dict[str, list[Query]], seconds: float
) -> dict[str, list[Rate]]:
    """Measure a mix of all kinds in turn: 8 callers, and one caller with and without indexing in half of the time."""
    mixed = [query for those in queries.values() for query in those]
    random.Random(4).shuffle(mixed)
    channel = await _open(searcher.target, keys)
    search = SearchServiceStub(channel)
    health = HealthStub(channel)
    requests = cycle([request_of(query) for query in mixed])

    def searches() -> Iterator[Call]:
        return (partial(search.Search, request) for request in requests)

    def empties() -> Iterator[Call]:
        return repeat(partial(health.Check, _EMPTY))  # type: ignore[attr-defined]

    found: dict[str, list[Rate]] = {}
    for _ in range(_ROUNDS):
        for name, make, callers, line in (
            ("empty, 8 callers", empties, _CALLERS, "rest"),
            ("searches, 8 callers", searches, _CALLERS, "rest"),
            ("searches, 1 caller", searches, 1, "rest"),
            ("the same, indexing", searches, 1, f"index {_INDEXING_SHARE}"),
        ):
            await asyncio.to_thread(searcher.command, line)
            found.setdefault(name, []).append(await _measure(searcher, make(), callers, seconds))
    await channel.close()
    return found


async def _measure(searcher: Searcher, calls: Iterator[Call], callers: int, seconds: float) -> Rate:
    taken: list[float] = []
    started, cpu, own = time.perf_counter(), searcher.cpu_s(), time.process_time()

    async def call() -> None:
        while (at := time.perf_counter()) < started + seconds:
            await next(calls)()
            taken.append(time.perf_counter() - at)

    await asyncio.gather(*(call() for _ in range(callers)))
    took = time.perf_counter() - started
    each = 1e6 / len(taken)
    return Rate(
        len(taken) / took,
        times_of(taken),
        (searcher.cpu_s() - cpu) * each,
        (time.process_time() - own) * each,
    )


async def _open(target: str, keys: KeyStore) -> grpc.aio.Channel:
    channel = open_channel(target, caller=OPERATOR, audience="searcher", keys=keys)
    await channel.channel_ready()
    return channel


async def _await(call: Awaitable[Any]) -> Any:
    return await call
