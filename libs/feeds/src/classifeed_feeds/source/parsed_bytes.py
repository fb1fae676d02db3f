"""Source bytes at the parser's position, to find the end of a tag: expat reports only its beginning."""

from __future__ import annotations

import re

_COMMENT = b"<!--"
_SECTION = b"<![CDATA["
# A tag up to its end; the quoted value of an attribute may contain >. Possessive, to prevent backtracking.
_TAG = re.compile(rb"""<(?:[^"'>]++|"[^"]*+"|'[^']*+')*+>""")


class ParsedBytes:
    """Keeps the bytes from the parser's position on. Memory holds one chunk and the current token."""

    def __init__(self) -> None:
        self._start = 0
        self._bytes = b""

    def add(self, data: bytes, position: int) -> None:
        """Add the next chunk of the content, before the parser gets it.

        Args:
            data: The chunk.
            position: Offset of the parser; earlier bytes are dropped.
        """
        self._bytes = self._bytes[max(position - self._start, 0) :] + data
        self._start = max(position, self._start)

    def end_of_element(self, start: int, position: int, *, is_childless: bool) -> int:
        """Return the offset after an element, at the end of which the parser is.

        Args:
            start: Offset of the element.
            position: Offset of the parser: before an end tag, but after an empty tag such as <offer/>.
            is_childless: Whether the element has no child elements.
        """
        if is_childless and start >= self._start:
            tag = _TAG.match(self._bytes, start - self._start)
            if tag is not None and tag.end() == position - self._start and tag[0].endswith(b"/>"):
                return position
        return self._start + self._bytes.index(b">", position - self._start) + 1

    def is_in_tag(self, position: int) -> bool:
        """Return whether a tag begins at `position`, and not a comment or another piece that may be long."""
        at = position - self._start
        head = self._bytes[at : at + len(_SECTION)]
        return head.startswith(b"<") and not head.startswith((_COMMENT, _SECTION, b"<?", b"<!"))
