"""Window on the source at the position of the second pass, for columns and excerpts without a second read."""

from __future__ import annotations

from classifeed_feeds.source.content import CHUNK_BYTES
from classifeed_feeds.source.opening import Insertion
from classifeed_feeds.source.source import ByteStream


class SourceWindow:
    """A stream for the parser that keeps the bytes since the beginning of the current offer.

    Call `forget_before` after each offer; then memory holds one chunk and one offer.

    Args:
        stream: The content.
        encoding: Encoding of the content.
        inserted: Text of the content that is not in the file.
    """

    def __init__(self, stream: ByteStream, encoding: str, inserted: Insertion | None = None) -> None:
        self._stream = stream
        self._inserted = inserted
        self.encoding = encoding
        self._base = 0
        self._bytes = b""
        self._kept_from = 0
        self._line = 1
        self._line_offset = 0
        # Characters of the line before `_column_offset`.
        self._column = 0
        self._column_offset = 0

    def read(self, size: int, /) -> bytes:
        """Return the next bytes of the stream."""
        data = self._stream.read(size)
        cut = min(max(self._kept_from - self._base, 0), len(self._bytes))
        if cut:
            self._base_line_and_column(self._base + cut)
            self._base += cut
        self._bytes = self._bytes[cut:] + data
        return data

    def read_until(self, offset: int) -> None:
        """Read until the window contains all bytes before an offset, or the stream has ended."""
        while self._base + len(self._bytes) < offset and self.read(CHUNK_BYTES):
            pass

    def forget_before(self, offset: int) -> None:
        """Allow to drop the bytes before an offset."""
        self._kept_from = offset

    def line(self, offset: int) -> int:
        """Return the line, from 1, of a byte offset inside the window. Offsets must not decrease between calls."""
        self._line += self._bytes.count(b"\n", self._line_offset - self._base, offset - self._base)
        self._line_offset = offset
        return self._line

    def column(self, offset: int) -> int:
        """Return the column, in characters from 1, of a byte offset inside the window.

        Offsets must not decrease between calls.
        """
        start, index = self._column_offset - self._base, offset - self._base
        line_start = self._bytes.rfind(b"\n", start, index) + 1
        if line_start:
            start, self._column = line_start, 0
        self._column += self._length(start, index)
        self._column_offset = offset
        return self._column + 1

    def piece(self, start: int, end: int) -> bytes:
        """Return the source bytes of a range inside the window."""
        return self._bytes[start - self._base : end - self._base]

    def text(self, data: bytes) -> str:
        """Decode source bytes."""
        return data.decode(self.encoding, "replace")

    def _base_line_and_column(self, offset: int) -> None:
        """Count lines and columns up to an offset, before earlier bytes are dropped."""
        self.line(max(self._line_offset, offset))
        self.column(max(self._column_offset, offset))

    def _length(self, start: int, end: int) -> int:
        """Return the number of characters in a range of the window, without inserted text."""
        data = self._bytes[start:end]
        inserted = self._inserted
        if inserted is not None and start + self._base <= inserted.offset < end + self._base:
            at = inserted.offset - self._base - start
            data = data[:at] + data[at + len(inserted.text) :]
        return len(data.decode(self.encoding, "replace"))
