"""Positions of the offers in the content, kept on disk between the passes; each takes eight bytes."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

_ROWS = 32_768


class PositionWriter:
    """Writes the byte ranges of the offers, in their order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._pending = array("I")
        self._end = 0

    def add(self, start: int, end: int) -> None:
        """Add the range of an offer. Ranges must grow and not overlap."""
        self._pending.append(start - self._end)
        self._pending.append(end - start)
        self._end = end
        if len(self._pending) >= 2 * _ROWS:
            self._flush()

    def close(self) -> None:
        """Flush and close the file. Idempotent."""
        if not self._file.closed:
            self._flush()
            self._file.close()

    def _flush(self) -> None:
        self._pending.tofile(self._file)
        del self._pending[:]


def read_positions(path: Path) -> Iterator[tuple[int, int]]:
    """Yield the byte range (start, end) of each offer in the file's order."""
    end = 0
    with path.open("rb") as file:
        while data := file.read(8 * _ROWS):
            rows = array("I", data)
            for gap, size in zip(rows[::2], rows[1::2], strict=True):
                start = end + gap
                end = start + size
                yield start, end
