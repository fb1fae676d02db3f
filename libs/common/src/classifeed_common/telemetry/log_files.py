"""Log files in addition to the log stream, shared by the processes of a machine and rotated by size or time."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import time
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import Final

from classifeed_common.telemetry.log_rotation import Rotation

KEPT: Final = 10


class RotatedFile(logging.Handler):
    """Appends each record as a line; rotates the file to `<name>.1` when it is due, and deletes `<name>.10`.

    The standard library's handlers support one process and the system's time zone only. Here several processes may
    append to one file: each line is a single write at its end. Only a rotation takes a lock, without waiting for it. So
    a paused process that holds the lock does not stop other processes from writing.

    A line that cannot be written is lost to the file. This is reported once on stderr, until a write succeeds.

    Args:
        path: path of the file; its folder exists.
        rotation: when to rotate.
        zone: time zone of days.
    """

    def __init__(self, path: Path, rotation: Rotation, zone: tzinfo) -> None:
        super().__init__()
        self._path = path
        self._rotation = rotation
        self._zone = zone
        self._file: int | None = None
        self._is_failing = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; never raises."""
        try:
            self._append(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                text = f"{self._path} cannot be written: {error.strerror}. Its lines are lost until it can be written."
                print(text, file=sys.stderr)  # noqa: T201 the log itself is what fails
            self._is_failing = True

    def close(self) -> None:
        """Close the file; a later record opens it again."""
        self._close_file()
        super().close()

    def _append(self, line: bytes) -> None:
        file = self._opened()
        found = os.fstat(file)
        size_bytes = found.st_size + len(line)
        if found.st_size and self._rotation.is_due(
            size_bytes=size_bytes, written_at=found.st_mtime, now=time.time(), zone=self._zone
        ):
            self._rotate(file)
            file = self._opened()
        os.write(file, line)

    def _opened(self) -> int:
        """Return the file with the current name: another process may have rotated the open one."""
        if self._file is not None and not self._is_named(self._file):
            self._close_file()
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
        return self._file

    def _rotate(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another process rotates it
        if self._is_named(file):
            for number in range(KEPT - 1, 0, -1):
                with suppress(FileNotFoundError):
                    self._aside(number).replace(self._aside(number + 1))
            self._path.replace(self._aside(1))
        self._close_file()

    def _aside(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _is_named(self, file: int) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(file))
        except FileNotFoundError:
            return False

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
