"""How documents are kept: as they are, or compressed with zstd. The numbers stand in every row."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import zstandard

_LEVEL: Final = 1
# The frame's header names its size, and a document is never larger than a message of gRPC.
_LIMIT_BYTES: Final = 16 * 1024 * 1024
_compressor = zstandard.ZstdCompressor(level=_LEVEL)
_decompressor = zstandard.ZstdDecompressor()


class Compression(IntEnum):
    """How the bytes of a row are to be read."""

    NONE = 0
    ZSTD = 1


class CorruptContent(Exception):
    """The bytes of a row cannot be read as it says."""


def compress(content: bytes, *, from_bytes: int) -> tuple[Compression, bytes]:
    """Return the content as it is kept: compressed when it is large enough and that makes it smaller."""
    if len(content) >= from_bytes:
        compressed = _compressor.compress(content)
        if len(compressed) < len(content):
            return Compression.ZSTD, compressed
    return Compression.NONE, content


def decompress(compression: int, kept: bytes) -> bytes:
    """Return the content of a row.

    Raises:
        CorruptContent: it was not written by `compress`.
    """
    if compression == Compression.NONE:
        return kept
    try:
        return _decompressor.decompress(kept, max_output_size=_LIMIT_BYTES)
    except zstandard.ZstdError as error:
        raise CorruptContent(f"{len(kept)} bytes are not a zstd frame: {error}") from error
