"""The content of a source for both passes: without blanks before the first tag, and with UTF-16 converted to UTF-8."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterator

from classifeed_feeds.source.opening import Insertion, Opening
from classifeed_feeds.source.source import ByteStream, SourceFile

CHUNK_BYTES = 256 << 10


@contextlib.contextmanager
def open_content(source: SourceFile, opening: Opening) -> Iterator[ByteStream]:
    """Open the content from its first `<`, in an encoding with one byte per ASCII character.

    Both passes use this stream, so that a byte offset means the same in both.
    """
    with source.open() as stream:
        remaining = opening.skip_bytes
        while remaining:
            remaining -= len(stream.read(remaining)) or remaining
        content: ByteStream = _Unfolded(stream, opening.wide) if opening.wide else stream
        yield _Completed(content, opening.inserted) if opening.inserted is not None else content


class _Unfolded:
    """A stream that converts UTF-16 to UTF-8."""

    def __init__(self, stream: ByteStream, codec: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(codec)("replace")

    def read(self, size: int, /) -> bytes:
        """Return some bytes, not always `size`; empty at the end."""
        while data := self._stream.read(size):
            if text := self._decoder.decode(data):
                return text.encode("utf-8", "replace")
        return self._decoder.decode(b"", True).encode("utf-8", "replace")


class _Completed:
    """A stream with a piece of text inserted."""

    def __init__(self, stream: ByteStream, inserted: Insertion) -> None:
        self._stream = stream
        self._inserted = inserted
        self._read = 0

    def read(self, size: int, /) -> bytes:
        """Return some bytes, not always `size`; empty at the end."""
        data = self._stream.read(size)
        at = self._inserted.offset - self._read
        self._read += len(data)
        return data[:at] + self._inserted.text + data[at:] if 0 <= at < len(data) else data
