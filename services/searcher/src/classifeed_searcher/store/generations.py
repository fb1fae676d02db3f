"""The generations of a client's index: which one is current, and how the next one takes its place."""

from __future__ import annotations

import fcntl
import shutil
import time
from pathlib import Path
from typing import IO, Final

from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.child_processes import ChildProcesses
from classifeed_searcher.engine.writing.writer import LockedIndex
from classifeed_searcher.store.generation import IndexGeneration
from classifeed_searcher.store.state_file import UnusableIndex, read_json, write_json

_CURRENT: Final = "current.json"
_LOCK: Final = "lock"


class Generations:
    """Folders under one of the client, and `current.json`, which names the one that counts.

    The file is replaced in one step, so after a crash one of the two generations counts, whole; what it does not name
    is removed.

    Args:
        data_dir: folder of all clients.
        client: name of the client.
        children: watches the processes that write the generations; None: nobody does.
    """

    def __init__(self, data_dir: Path, client: str, children: ChildProcesses | None = None) -> None:
        self.client = client
        self.folder = data_dir / client
        self.folder.mkdir(parents=True, exist_ok=True)
        self._children = children
        self._lock: IO[bytes] | None = None

    def lock(self) -> None:
        """Take the folder for this process, until `unlock` or its end. A second call changes nothing.

        Raises:
            LockedIndex: another process has it.
        """
        if self._lock is not None:
            return
        file = (self.folder / _LOCK).open("wb")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise LockedIndex(f"{self.folder} is written by another process: stop that one first") from error
        self._lock = file

    def unlock(self) -> None:
        """Give the folder back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def open_current(self) -> IndexGeneration:
        """Open the current generation and remove what is left of others.

        Raises:
            UnusableIndex: there is none that can be gone on with.
        """
        if all(entry.name == _LOCK for entry in self.folder.iterdir()):
            raise UnusableIndex(f"{self.folder} is empty")
        name = self._read_current()
        generation = IndexGeneration.open(self.folder / name, self._children)
        self._remove_all_but(name)
        return generation

    def create(self, schema: Schema) -> IndexGeneration:
        """Return a new, empty generation, which is not the current one. Blocks."""
        return IndexGeneration.create(self.folder / f"generation-{time.time_ns()}", schema, self._children)

    def switch_to(self, generation: IndexGeneration) -> None:
        """Make a generation the current one, durably and in one step. Blocks."""
        write_json(self.folder / _CURRENT, {"generation": generation.folder.name})

    def remove_all_but(self, generation: IndexGeneration) -> None:
        """Remove the other generations, which must be closed. Blocks."""
        self._remove_all_but(generation.folder.name)

    def remove_abandoned(self) -> None:
        """Remove what builds that came to no end have left: all but the current generation. Blocks."""
        try:
            name = self._read_current()
        except UnusableIndex:
            name = ""
        self._remove_all_but(name)

    def _read_current(self) -> str:
        """Return the name of the current generation.

        Raises:
            UnusableIndex: there is none.
        """
        name = read_json(self.folder / _CURRENT).get("generation")
        if not isinstance(name, str) or not name or Path(name).name != name:
            raise UnusableIndex(f"{self.folder / _CURRENT} does not name an index")
        return name

    def _remove_all_but(self, name: str) -> None:
        for entry in self.folder.iterdir():
            if entry.name in {name, _CURRENT, _LOCK}:
                continue
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
