"""The content of a source as both passes see it: blanks before the first tag dropped, wide encodings unfolded."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterator

from classifeed_processor.feed.opening import Opening
from classifeed_processor.feed.source import ByteStream, SourceFile

CHUNK_BYTES = 256 << 10


@contextlib.contextmanager
def open_content(source: SourceFile, opening: Opening) -> Iterator[ByteStream]:
    """Gives the content from its first `<`, in an encoding of one byte for each ASCII character.

    Both passes read through here, so that a byte offset means the same in both.
    """
    with source.open() as stream:
        remaining = opening.skip_bytes
        while remaining:
            remaining -= len(stream.read(remaining)) or remaining
        yield _Unfolded(stream, opening.wide) if opening.wide else stream


class _Unfolded:
    """UTF-16 read as UTF-8."""

    def __init__(self, stream: ByteStream, codec: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(codec)("replace")

    def read(self, size: int, /) -> bytes:
        """Returns some bytes, not always `size`; empty at the end."""
        while data := self._stream.read(size):
            if text := self._decoder.decode(data):
                return text.encode("utf-8", "replace")
        return self._decoder.decode(b"", True).encode("utf-8", "replace")
