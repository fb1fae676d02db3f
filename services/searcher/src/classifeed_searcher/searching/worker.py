"""A search process: `python -m classifeed_searcher.searching.worker MEMORY_MB DESCRIPTOR`.

It only reads the indexes, which the writer processes write. It receives and sends the frames of `searching.wire`, and
ends once the other side of the descriptor is closed.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from classifeed.search.v1.search_service_pb2 import SearchRequest
from classifeed_common.errors import InvalidArgument
from classifeed_searcher.app.search_index import prepare_search
from classifeed_searcher.engine.child_process import ignore_stop_signals
from classifeed_searcher.engine.index import IndexReader
from classifeed_searcher.searching.wire import LENGTH, Reply, Request, pack, unpack_request
from classifeed_searcher.store.generation_files import index_of, read_schema

# A thread with a long search gives way to short ones after this time instead of after 5 ms.
SWITCH_S: Final = 0.0005
_LONG_SEARCHES: Final = 8


@dataclass(slots=True)
class _Opened:
    folder: str
    index: IndexReader
    commits: int


def main() -> None:
    """Search until the other side is closed."""
    ignore_stop_signals()  # the service still searches after a stop signal
    sys.setswitchinterval(SWITCH_S)
    memory_mb, descriptor = map(int, sys.argv[1:])
    # Not RLIMIT_AS: the address space includes the index files.
    resource.setrlimit(resource.RLIMIT_DATA, (memory_mb << 20, memory_mb << 20))
    connection = socket.socket(fileno=descriptor)
    lock = threading.Lock()

    def send(reply: Reply) -> None:
        frame = pack(reply)
        with lock:
            try:
                connection.sendall(frame)
            except OSError:
                os._exit(0)  # the service is gone

    opened: dict[str, _Opened] = {}
    pending: dict[int, Future[None]] = {}
    with connection.makefile("rb") as source, ThreadPoolExecutor(_LONG_SEARCHES) as threads:
        send(Reply(0))
        while (content := _read(source)) is not None:
            _handle(unpack_request(content), opened, send, threads, pending)
        os._exit(0)  # no caller waits for the remaining searches


def _handle(
    request: Request,
    opened: dict[str, _Opened],
    send: Callable[[Reply], None],
    threads: ThreadPoolExecutor,
    pending: dict[int, Future[None]],
) -> None:
    if request.content is None and request.number:
        if (dropped := pending.get(request.number)) is not None and dropped.cancel():
            send(Reply(request.number, failure="cancelled"))
        return
    try:
        index = _open(opened, request)
        if request.content is None:
            return
        search = prepare_search(index, SearchRequest.FromString(request.content))
    except Exception as error:  # noqa: BLE001 - the service must get every error
        send(_fault(request.number, error, has_begun=False))
        return

    def run() -> None:
        try:
            send(Reply(request.number, search.run()))
        except BaseException as error:  # noqa: BLE001 - the service must get every error; a panic of the engine is no Exception
            send(_fault(request.number, error, has_begun=True))
            if isinstance(error, MemoryError):
                os._exit(1)  # the memory may be fragmented, so that the next search would fail, too

    if search.is_short:
        run()
    else:
        future = pending[request.number] = threads.submit(run)
        future.add_done_callback(lambda _: pending.pop(request.number, None))


def _open(opened: dict[str, _Opened], request: Request) -> IndexReader:
    found = opened.get(request.client)
    if found is None or found.folder != request.folder:
        folder = Path(request.folder)
        reader = IndexReader(index_of(folder), read_schema(folder), make=False)
        opened[request.client] = found = _Opened(request.folder, reader, request.commits)
    if found.commits < request.commits:
        found.index.reload()
        found.commits = request.commits
    return found.index


def _fault(number: int, error: BaseException, *, has_begun: bool) -> Reply:
    if isinstance(error, InvalidArgument):
        fields = {name: getattr(error, name) for name in ("reason", "message", "metadata", "violations")}
        return Reply(number, refused=fields)
    return Reply(number, failure=f"{type(error).__name__}: {error}", has_begun=has_begun)


def _read(source: IO[bytes]) -> bytes | None:
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return source.read(LENGTH.unpack(head)[0])


if __name__ == "__main__":
    main()
