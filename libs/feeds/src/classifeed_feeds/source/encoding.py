"""Checks whether bytes are UTF-8."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from classifeed_feeds.source.content import CHUNK_BYTES
from classifeed_feeds.source.source import ByteStream

# With fewer multi-byte sequences, a single-byte text may look like UTF-8 by chance.
_SURE_PAIRS = 8


@dataclass(frozen=True, slots=True)
class Utf8Measure:
    """Result of a check for UTF-8.

    Attributes:
        bad_offset: Offset of the first byte that is not UTF-8; -1: there is none.
        multibyte: Number of multi-byte characters before it.
    """

    bad_offset: int
    multibyte: int


def measure_utf8(stream: ByteStream, until: int) -> Utf8Measure:
    """Check whether the content is UTF-8 up to byte `until`, or a little further."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    offset = multibyte = 0
    while offset <= until:
        data = stream.read(CHUNK_BYTES)
        pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(data, not data)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode("utf-8")
            return Utf8Measure(offset - pending + error.start, multibyte + _count_multibyte(good))
        multibyte += _count_multibyte(text)
        offset += len(data)
        if not data:
            break
    return Utf8Measure(-1, multibyte)


def _count_multibyte(text: str) -> int:
    return 0 if text.isascii() else sum(not char.isascii() for char in text)


def is_single_byte(encoding: str) -> bool:
    """Return whether the parser's encoding has one byte per character."""
    return encoding != "utf-8"


def looks_like_utf8(prefix: bytes) -> bool:
    """Return whether bytes that are declared as a single-byte encoding are clearly UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    try:
        text = decoder.decode(prefix)
    except UnicodeDecodeError:
        return False
    return _count_multibyte(text) >= _SURE_PAIRS
