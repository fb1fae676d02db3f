"""The searcher's side of a process that writes an index."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import structlog

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.child_processes import ChildProcess, ChildProcesses
from classifeed_searcher.engine.writing import worker
from classifeed_searcher.engine.writing.writer import LockedIndex, Refused

_log = structlog.get_logger(__name__)

_AT_ONCE: Final = 500
# A commit takes a second at most. After so long a time, the process has been stopped, or its disk hangs.
_LIMIT_S: Final = 120.0
_END_S: Final = 10.0


class WriterLost(Exception):
    """The process that writes an index has ended or failed; writes since the last commit are lost."""


class WriterProcess:
    """An IndexWriter that starts its process with the first write, and a new one after a failure.

    After a failure every call fails until `rollback`, so that part of an effect is never committed.

    Args:
        folder: folder of the index.
        schema: schema of the documents.
        children: watcher of the process; None: it is not watched.
        limit_s: seconds after which the process is killed if a call has not returned.
    """

    def __init__(
        self, folder: Path, schema: Schema, *, children: ChildProcesses | None = None, limit_s: float = _LIMIT_S
    ) -> None:
        self._folder = folder
        self._schema = schema
        self._children = children or ChildProcesses()
        self._limit_s = limit_s
        self._child: ChildProcess | None = None
        self._connection: Connection | None = None
        self._failure = ""
        self._is_closed = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The id of the process; None while there is none."""
        return self._child.pid if self._child else None

    def apply(self, documents: Sequence[IndexDocument]) -> Refused:
        """See IndexWriter.

        Raises:
            WriterLost: the process has ended or failed.
            LockedIndex: another process writes the index.
        """
        return self._put("apply", documents)

    def add(self, documents: Sequence[RawDocument]) -> Refused:
        """See IndexWriter.

        Raises:
            WriterLost, LockedIndex: as `apply`.
        """
        return self._put("add", documents)

    def commit(self) -> None:
        """See IndexWriter.

        Raises:
            WriterLost: the process has ended or failed; it is unknown whether the commit has happened.
            LockedIndex: as `apply`.
        """
        self._call("commit")

    def rollback(self) -> None:
        """See IndexWriter. A process that has ended leaves nothing to discard."""
        with suppress(WriterLost):
            if self._connection is not None:
                self._call("rollback")
        self._failure = ""

    def close(self) -> None:
        """See IndexWriter. A call in progress fails, because its writes would be lost anyway."""
        self._is_closed = True
        if (child := self._child) is not None:
            child.kill()
        with self._lock:
            self._end()

    def _put(self, verb: str, documents: Sequence[IndexDocument] | Sequence[RawDocument]) -> Refused:
        refused: dict[int, str] = {}
        for first in range(0, len(documents), _AT_ONCE):
            values = [document.SerializeToString() for document in documents[first : first + _AT_ONCE]]
            refused |= {first + at: why for at, why in self._call(verb, values).items()}
        return refused

    def _call(self, verb: str, values: Sequence[bytes] = ()) -> Refused:
        with self._lock:
            if self._failure or self._is_closed:
                raise WriterLost(f"{self._folder} is not written: {self._failure or 'it was closed'}")
            if self._connection is None:
                self._exchange(self._start())
            return self._exchange((verb, values))

    def _start(self) -> bytes:
        """Start the process; return the first message to send to it."""
        name = f"index writer of {self._schema.client}"
        self._child = self._children.start(name, worker.__name__, str(self._folder))
        self._connection = Connection(self._child.socket.detach())
        return self._schema.SerializeToString()

    def _exchange(self, message: Any) -> Refused:
        """Send a message and return the documents that were refused; a failure ends the process."""
        assert self._child is not None
        assert self._connection is not None
        # A killed process closes its side, which also ends a `send` that it does not read.
        limit = threading.Timer(self._limit_s, self._child.kill)
        limit.start()
        try:
            with self._child.call():
                self._connection.send(message)
                failure, refused = self._connection.recv()
        except (OSError, EOFError):
            failure, refused = "its process has ended", {}
        finally:
            limit.cancel()
        if failure:
            code = self._end()
            if isinstance(failure, LockedIndex):
                raise failure
            self._failure = f"{failure} (exit code {code})" if code else str(failure)
            _log.warning("searcher.writer.lost", folder=str(self._folder), why=self._failure)
            raise WriterLost(f"{self._folder} is not written: {self._failure}")
        return dict(refused)

    def _end(self) -> int:
        """End the process and return its exit code; 0 if it was not running."""
        child, connection = self._child, self._connection
        self._child = self._connection = None
        if child is None or connection is None:
            return 0
        connection.close()
        return child.wait(_END_S)
