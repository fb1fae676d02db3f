"""The source bytes that the parser is at, so that the end of a tag is known: expat reports only where a tag begins."""

from __future__ import annotations

import re

_COMMENT = b"<!--"
_SECTION = b"<![CDATA["
# A tag up to its end; > may stand inside of the quotes of an attribute. Possessive: there is one way to read it.
_TAG = re.compile(rb"""<(?:[^"'>]++|"[^"]*+"|'[^']*+')*+>""")


class ParsedBytes:
    """Keeps what the parser was given and has not read past. Memory is one chunk and the piece that it is in."""

    def __init__(self) -> None:
        self._start = 0
        self._bytes = b""

    def add(self, data: bytes, position: int) -> None:
        """Take the next chunk of the content, before the parser does.

        Args:
            data: The chunk.
            position: The byte that the parser stands at; what is before it is not read any more.
        """
        self._bytes = self._bytes[max(position - self._start, 0) :] + data
        self._start = max(position, self._start)

    def end_of_element(self, start: int, position: int, *, is_childless: bool) -> int:
        """Return the byte behind an element at whose end the parser stands.

        Args:
            start: The byte at which the element begins.
            position: The byte that the parser stands at: before an end tag, but behind an empty tag such as <offer/>.
            is_childless: Whether no other element began in it.
        """
        if is_childless and start >= self._start:
            tag = _TAG.match(self._bytes, start - self._start)
            if tag is not None and tag.end() == position - self._start and tag[0].endswith(b"/>"):
                return position
        return self._start + self._bytes.index(b">", position - self._start) + 1

    def is_in_tag(self, position: int) -> bool:
        """Say whether what begins at `position` is a tag, and no comment or other piece that may be long."""
        at = position - self._start
        head = self._bytes[at : at + len(_SECTION)]
        return head.startswith(b"<") and not head.startswith((_COMMENT, _SECTION, b"<?", b"<!"))
