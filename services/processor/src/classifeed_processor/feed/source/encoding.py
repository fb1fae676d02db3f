"""Whether bytes are what they say they are."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from classifeed_processor.feed.source.content import CHUNK_BYTES
from classifeed_processor.feed.source.source import ByteStream

# Fewer pairs than this may be UTF-8 by chance in a text of single bytes.
_SURE_PAIRS = 8


@dataclass(frozen=True, slots=True)
class Utf8Measure:
    """How far a content is UTF-8.

    Attributes:
        bad_offset: Byte offset of the first byte that is not, or -1.
        multibyte: Characters of more than one byte before that.
    """

    bad_offset: int
    multibyte: int


def measure_utf8(stream: ByteStream, until: int) -> Utf8Measure:
    """Read the content up to byte `until`, or a little further, and say whether it is UTF-8."""
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
    """Says whether this forced encoding has one byte for each character."""
    return encoding != "utf-8"


def looks_like_utf8(prefix: bytes) -> bool:
    """Says whether bytes that claim to be of a one-byte encoding are UTF-8 beyond doubt."""
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    try:
        text = decoder.decode(prefix)
    except UnicodeDecodeError:
        return False
    return _count_multibyte(text) >= _SURE_PAIRS
