"""The process that writes an index: `python -m classifeed_searcher.engine.writing.worker FOLDER DESCRIPTOR`.

It ends with the descriptor's other side, whatever it is doing.
"""

from __future__ import annotations

import os
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
from classifeed_searcher.engine.child_process import ignore_stop_signals
from classifeed_searcher.engine.writing.writer import DocumentWriter, LockedIndex

# Searches come first where both want a core. 10 is a tenth of the weight of an ordinary process.
_NICENESS: Final = 10
# A searcher that was killed has its process end a moment later, and its lock with it.
_LOCK_WAIT_S: Final = 5.0
_LOCK_POLL_S: Final = 0.05


def main() -> None:
    """Write the index until the other side is closed."""
    folder, descriptor = sys.argv[1:]
    ignore_stop_signals()  # the searcher's last commit comes after them
    os.nice(_NICENESS)
    connection = Connection(int(descriptor))
    requests: SimpleQueue[Any] = SimpleQueue()
    # Whatever the engine is doing: once nobody waits for it any more, the process ends, and gives the lock back.
    threading.Thread(target=_receive, args=(connection, requests.put), daemon=True).start()
    try:
        writer = _open(Path(folder), Schema.FromString(requests.get()))
        connection.send((None, {}))
        while True:
            connection.send((None, _handle(writer, *requests.get())))
    except LockedIndex as error:
        connection.send((error, {}))
    except Exception as error:  # noqa: BLE001 - whatever it is, the searcher has to know, and begins with a new process
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
