"""The piece of the source that the second pass is in: columns and excerpts for what is wrong, without reading twice."""

from __future__ import annotations

from classifeed_processor.feed.source import ByteStream


class SourceWindow:
    """A stream for the parser that remembers the bytes since the offer at hand began.

    `forget_before` is told as offers are done; memory is one chunk and one offer.

    Attributes:
        encoding: That of its bytes.
    """

    def __init__(self, stream: ByteStream, encoding: str) -> None:
        self._stream = stream
        self.encoding = encoding
        self._base = 0
        self._bytes = b""
        self._floor = 0
        # Characters between the last line break before the window and the window.
        self._carried = 0
        self._line = 1
        self._line_offset = 0

    def read(self, size: int, /) -> bytes:
        """Returns the next bytes of the stream, as the parser asks for them."""
        data = self._stream.read(size)
        cut = min(max(self._floor - self._base, 0), len(self._bytes))
        if cut:
            self.line(max(self._line_offset, self._base + cut))
            dropped = self._bytes[:cut]
            line_start = dropped.rfind(b"\n") + 1
            self._carried = self._length(dropped[line_start:]) + (0 if line_start else self._carried)
            self._base += cut
        self._bytes = self._bytes[cut:] + data
        return data

    def forget_before(self, offset: int) -> None:
        """Says that nothing before this byte offset will be asked for."""
        self._floor = offset

    def line(self, offset: int) -> int:
        """Returns the line, from 1, of a byte offset inside the window. Offsets asked for may only grow."""
        self._line += self._bytes.count(b"\n", self._line_offset - self._base, offset - self._base)
        self._line_offset = offset
        return self._line

    def column(self, offset: int) -> int:
        """Returns the column, in characters from 1, of a byte offset inside the window."""
        index = offset - self._base
        line_start = self._bytes.rfind(b"\n", 0, index) + 1
        return self._length(self._bytes[line_start:index]) + (0 if line_start else self._carried) + 1

    def piece(self, start: int, end: int) -> bytes:
        """Returns the source bytes of a range inside the window."""
        return self._bytes[start - self._base : end - self._base]

    def text(self, data: bytes) -> str:
        """Returns source bytes as characters."""
        return data.decode(self.encoding, "replace")

    def _length(self, data: bytes) -> int:
        return len(data.decode(self.encoding, "replace"))
