"""Compression of stored documents: none or zstd. Every row stores the number of its compression."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import zstandard

_LEVEL: Final = 1
# A limit in case a damaged frame header claims a huge size; no document is larger than a gRPC message.
_LIMIT_BYTES: Final = 16 * 1024 * 1024
_compressor = zstandard.ZstdCompressor(level=_LEVEL)
_decompressor = zstandard.ZstdDecompressor()


class Compression(IntEnum):
    """Compression of the bytes of a row."""

    NONE = 0
    ZSTD = 1


class CorruptContent(Exception):
    """The content of a row is damaged."""


def compress(content: bytes, *, from_bytes: int) -> tuple[Compression, bytes]:
    """Return the content to store: compressed if it has at least `from_bytes` bytes and gets smaller."""
    if len(content) >= from_bytes:
        compressed = _compressor.compress(content)
        if len(compressed) < len(content):
            return Compression.ZSTD, compressed
    return Compression.NONE, content


def decompress(compression: int, kept: bytes) -> bytes:
    """Return the content of a row.

    Raises:
        CorruptContent: the bytes are no zstd frame.
    """
    if compression == Compression.NONE:
        return kept
    try:
        return _decompressor.decompress(kept, max_output_size=_LIMIT_BYTES)
    except zstandard.ZstdError as error:
        raise CorruptContent(f"{len(kept)} bytes are not a zstd frame: {error}") from error
