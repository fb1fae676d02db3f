from __future__ import annotations

import os

import pytest

from classifeed_receiver.store.compression import Compression, CorruptContent, compress, decompress


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"small", Compression.NONE), (b"text " * 1000, Compression.ZSTD), (os.urandom(5000), Compression.NONE)],
)
def test_content_comes_back(content: bytes, expected: Compression) -> None:
    compression, kept = compress(content, from_bytes=1000)
    assert compression is expected
    assert decompress(compression, kept) == content


def test_damage_is_found() -> None:
    _, kept = compress(b"text " * 1000, from_bytes=0)
    with pytest.raises(CorruptContent):
        decompress(Compression.ZSTD, kept[:10])
    with pytest.raises(CorruptContent):
        decompress(Compression.ZSTD, b"no frame at all")
