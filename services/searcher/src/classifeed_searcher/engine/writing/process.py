"""An index written by a process of its own, as the searcher sees it."""

from __future__ import annotations

import subprocess
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
from classifeed_common.child_processes import Child, ChildProcesses
from classifeed_searcher.engine.child_process import await_end, start_module
from classifeed_searcher.engine.writing import worker
from classifeed_searcher.engine.writing.writer import LockedIndex, Refused

_log = structlog.get_logger(__name__)

_AT_ONCE: Final = 500
# A commit takes a second at most; what takes so much longer has been stopped, or its disk stands still.
_LIMIT_S: Final = 120.0


class WriterLost(Exception):
    """The process that writes an index has ended, or failed. What it was given since the last commit is forgotten."""


class WriterProcess:
    """An IndexWriter that starts its process when there is something to write, and a new one after that has failed.

    After a failure every call fails until `rollback`, so that no half of an effect is ever committed.

    Args:
        folder: of the index.
        schema: of its documents.
        children: watches the process; None: nobody does.
        limit_s: how long one call may take before the process is killed, in seconds.
    """

    def __init__(
        self, folder: Path, schema: Schema, *, children: ChildProcesses | None = None, limit_s: float = _LIMIT_S
    ) -> None:
        self._folder = folder
        self._schema = schema
        self._children = children or ChildProcesses()
        self._limit_s = limit_s
        self._child: Child | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._failure = ""
        self._is_closed = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """Return the id of the process; None while there is none."""
        return self._process.pid if self._process else None

    def apply(self, documents: Sequence[IndexDocument]) -> Refused:
        """See IndexWriter.

        Raises:
            WriterLost: the process has ended, or failed.
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
            WriterLost: the process has ended, or failed; whether the commit has happened is unknown.
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
        """See IndexWriter. A call that is under way fails: what it writes would be forgotten anyway."""
        self._is_closed = True
        if (process := self._process) is not None:
            process.kill()
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
        """Start the process; return what it has to get first."""
        self._process, ours = start_module(worker.__name__, str(self._folder))
        self._child = self._children.add(f"index writer of {self._schema.client}", self._process.pid)
        self._connection = Connection(ours.detach())
        return self._schema.SerializeToString()

    def _exchange(self, message: Any) -> Refused:
        """Send a message and return what comes back; a failure ends the process."""
        assert self._process is not None
        assert self._connection is not None
        assert self._child is not None
        # Killed, the process closes its side: that ends a `send` that nobody reads, too.
        limit = threading.Timer(self._limit_s, self._process.kill)
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

    def _end(self) -> int | None:
        """End the process, and return its exit code; 0 when it was not running."""
        process, connection, child = self._process, self._connection, self._child
        self._process = self._connection = self._child = None
        if process is None or connection is None or child is None:
            return 0
        connection.close()
        try:
            return await_end(process)
        finally:
            self._children.remove(child)
