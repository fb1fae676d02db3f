"""Find every bare & of a file, which XML writes as &amp;; the parser stops at the first one."""

from __future__ import annotations

import codecs
import io
import re
from typing import Final

from classifeed_feeds.diagnosis.child_offsets import LineColumn
from classifeed_feeds.faults import FeedFault
from classifeed_feeds.source.content import CHUNK_BYTES
from classifeed_feeds.source.source import ByteStream

LISTED: Final = 100
COUNTED: Final = 10_000
_REFERENCE_CHARS: Final = 200
_REFERENCE: Final = rb"#[0-9]{1,10};|#x[0-9A-Fa-f]{1,8};|[A-Za-z_:\x80-\xff][A-Za-z0-9._:\x80-\xff-]{0,190};"
_NEXT: Final = re.compile(rb"<!--|<!\[CDATA\[|<\?|&(?!" + _REFERENCE + rb")")
# Ends of sections in which an & is literal, by their beginnings.
_ENDS: Final = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}


class BareAmpersands:
    """Finds bare ampersands, beginning at the first one.

    Attributes:
        places: Positions of the first `LISTED` ones, in their order.
        count: Number of bare ampersands, counted up to `COUNTED`.
    """

    def __init__(self, encoding: str, first: LineColumn) -> None:
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._line, self._column = first
        self._end = b""
        self.places: list[LineColumn] = []
        self.count = 0

    def look(self, begin: bytes, stream: ByteStream) -> None:
        """Read to the end of the stream, or until enough are counted.

        Args:
            begin: Bytes that were read before, from the first bare & on.
            stream: Bytes that follow; if a read fails, the search ends there.
        """
        self._advance(begin[:1])
        self._note()
        data = begin[1:]
        while self.count < COUNTED:
            try:
                further = stream.read(CHUNK_BYTES)
            except FeedFault:
                further = b""
            data = self._take(data + further, is_last=not further)
            if not further:
                return

    def describe(self) -> list[str]:
        """Return a line with all positions; an empty list if there is only the one that the fault has already."""
        if self.count <= 1:
            return []
        count = f"at least {self.count:,}" if self.count >= COUNTED else f"{self.count:,}"
        which = f" The first {LISTED}" if self.count > LISTED else " All"
        listed = ", ".join(f"{place.line}:{place.column}" for place in self.places)
        return [f"There is a bare & in {count} places.{which} by line and column: {listed}"]

    def _take(self, data: bytes, *, is_last: bool) -> bytes:
        """Search the data up to a possibly incomplete reference at its end; return the rest."""
        done, safe = 0, len(data) if is_last else max(len(data) - _REFERENCE_CHARS, 0)
        while self.count < COUNTED:
            if self._end:
                at = data.find(self._end, done)
                at = -1 if at < 0 else at + len(self._end)
            else:
                found = _NEXT.search(data, done)
                at = -1 if found is None or found.start() >= safe else found.end()
            if at < 0:
                break
            self._advance(data[done:at])
            done = at
            if self._end:
                self._end = b""
            elif found is not None:
                self._end = _ENDS.get(found[0], b"")
                if not self._end:
                    self._note()
        keep = max(done, safe)
        self._advance(data[done:keep])
        return data[keep:]

    def _note(self) -> None:
        self.count += 1
        if len(self.places) < LISTED:
            self.places.append(LineColumn(self._line, self._column - 1))

    def _advance(self, piece: bytes) -> None:
        if len(self.places) == LISTED:
            return
        text = self._decoder.decode(piece)
        breaks = text.count("\n")
        self._line += breaks
        self._column = len(text) - text.rfind("\n") if breaks else self._column + len(text)
