"""The process that writes an index: `python -m classifeed_searcher.engine.writing.worker FOLDER`.

Its standard input is a socket, on which it also responds. It ends as soon as the other side is closed, even during a
write.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_searcher.engine.writing.writer import DocumentWriter, LockedIndex

# Searches have priority if both need a core. 10 is a tenth of the weight of an ordinary process.
_NICENESS: Final = 10
# The writer process of a killed searcher ends a moment later, and only then releases its lock.
_LOCK_WAIT_S: Final = 5.0
_LOCK_POLL_S: Final = 0.05


def main() -> None:
    """Write the index until the other side is closed."""
    [folder] = sys.argv[1:]
    for stop_signal in (signal.SIGINT, signal.SIGTERM):  # the searcher gets them, too, and still commits
        signal.signal(stop_signal, signal.SIG_IGN)
    os.nice(_NICENESS)
    connection = Connection(sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # no line that a library prints gets into a response
    requests: SimpleQueue[Any] = SimpleQueue()
    # A separate thread: the process must end and release its lock as soon as the searcher is gone, even during a write.
    threading.Thread(target=_receive, args=(connection, requests.put), daemon=True).start()
    try:
        writer = _open(Path(folder), Schema.FromString(requests.get()))
        connection.send((None, {}))
        while True:
            connection.send((None, _handle(writer, *requests.get())))
    except LockedIndex as error:
        connection.send((error, {}))
    except Exception as error:  # noqa: BLE001 - the searcher must get every error, and starts a new process
        connection.send((f"{type(error).__name__}: {error}", {}))


def _receive(connection: Connection, put: Callable[[Any], None]) -> None:
    while True:
        try:
            put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)


def _open(folder: Path, schema: Schema) -> DocumentWriter:
    ends_at = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return DocumentWriter(folder, schema)
        except LockedIndex:
            if time.monotonic() > ends_at:
                raise
            time.sleep(_LOCK_POLL_S)


def _handle(writer: DocumentWriter, verb: str, values: Sequence[bytes]) -> Mapping[int, str]:
    match verb:
        case "apply":
            return writer.apply([IndexDocument.FromString(value) for value in values])
        case "add":
            return writer.add([RawDocument.FromString(value) for value in values])
        case "commit":
            writer.commit()
        case "rollback":
            writer.rollback()
    return {}


if __name__ == "__main__":
    main()
