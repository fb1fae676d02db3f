"""The generations of a client's index: the current one, and its replacement by the next one."""

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
    """Folders of generations in the client's folder, and `current.json`, which has the name of the current one.

    The file is replaced atomically, so after a crash one of the two generations is current and complete. The others
    are removed.

    Args:
        data_dir: folder of all clients.
        client: name of the client.
        children: watcher of the processes that write the generations; None: they are not watched.
    """

    def __init__(self, data_dir: Path, client: str, children: ChildProcesses | None = None) -> None:
        self.client = client
        self.folder = data_dir / client
        self.folder.mkdir(parents=True, exist_ok=True)
        self._children = children
        self._lock: IO[bytes] | None = None

    def lock(self) -> None:
        """Lock the folder until `unlock` or the end of this process. A second call changes nothing.

        Raises:
            LockedIndex: another process has the lock.
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
        """Release the lock on the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def open_current(self) -> IndexGeneration:
        """Open the current generation and remove the others.

        Raises:
            UnusableIndex: there is no usable generation.
        """
        if all(entry.name == _LOCK for entry in self.folder.iterdir()):
            raise UnusableIndex(f"{self.folder} is empty")
        name = self._read_current()
        generation = IndexGeneration.open(self.folder / name, self._children)
        self._remove_all_but(name)
        return generation

    def create(self, schema: Schema) -> IndexGeneration:
        """Create an empty generation, which is not the current one. Blocks."""
        return IndexGeneration.create(self.folder / f"generation-{time.time_ns()}", schema, self._children)

    def switch_to(self, generation: IndexGeneration) -> None:
        """Make a generation the current one, durably and atomically. Blocks."""
        write_json(self.folder / _CURRENT, {"generation": generation.folder.name})

    def remove_all_but(self, generation: IndexGeneration) -> None:
        """Remove the other generations, which must be closed. Blocks."""
        self._remove_all_but(generation.folder.name)

    def remove_abandoned(self) -> None:
        """Remove the generations of unfinished builds: all but the current one. Blocks."""
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
