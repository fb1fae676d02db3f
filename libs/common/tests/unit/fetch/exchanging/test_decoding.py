from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import brotli
import pytest

from classifeed_common.fetch.exchanging import decoding
from classifeed_common.fetch.exchanging.decoding import decoder_for

PIECE_BYTES = 256 * 1024


def bare(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", bare), ("br", brotli.compress)],
)
@pytest.mark.parametrize("size_bytes", [0, 1, *(PIECE_BYTES * n + d for n in (1, 3) for d in (-1, 0, 1, 100, 300))])
@pytest.mark.parametrize("fill", [bytes, os.urandom])
def test_what_comes_out_is_what_went_in_whatever_the_size(
    encoding: str, encode: Callable[[bytes], bytes], size_bytes: int, fill: Callable[[int], bytes]
) -> None:
    data = fill(size_bytes)
    decoder = decoder_for(encoding)
    pieces = list(decoder.pieces(encode(data)))
    assert b"".join(pieces) == data
    assert decoder.is_whole()
    assert max(map(len, pieces), default=0) <= 2 * PIECE_BYTES


def test_members_of_gzip_in_their_thousands_are_no_burden(monkeypatch: pytest.MonkeyPatch) -> None:
    handed_bytes = 0
    inflate = decoding._inflate

    def counted(stream: Any, data: bytes) -> Iterator[bytes]:
        nonlocal handed_bytes
        handed_bytes += len(data)
        return inflate(stream, data)

    monkeypatch.setattr(decoding, "_inflate", counted)
    decoder = decoder_for("gzip")
    many = gzip.compress(b"x") * 50_000
    assert b"".join(decoder.pieces(many)) == b"x" * 50_000
    assert decoder.is_whole()
    assert handed_bytes < 1000 * len(many)  # each member copies the rest: bounded, it is small


def test_a_member_may_begin_in_the_next_part() -> None:
    decoder = decoder_for("gzip")
    both = gzip.compress(b"first") + gzip.compress(b"second")
    assert b"".join(piece for byte in both for piece in decoder.pieces(bytes([byte]))) == b"firstsecond"
