"""Decoding of Content-Encoding in bounded pieces, for any input."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final, Protocol

import brotli

from classifeed_common.fetch.failed import FetchFailed

ACCEPTED: Final = "gzip, deflate, br"
_PIECE_BYTES: Final = 256 * 1024
_PART_BYTES: Final = 16 * 1024
_GZIP_START: Final = b"\x1f\x8b"


class Decoder(Protocol):
    """Decodes the body of one response."""

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """Yield the decoded bytes of `raw`, the next part of the body, in pieces of at most about 256 KiB.

        Raises:
            FetchFailed: ENCODING_BROKEN.
        """

    def is_whole(self) -> bool:
        """Return whether the encoded stream is at its end."""


class Plain:
    """No encoding."""

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """Yield the bytes unchanged."""
        yield raw

    def is_whole(self) -> bool:
        """Return True: the length of the body marks its end."""
        return True


class Gzip:
    """gzip, also with several members; bytes after the last one are ignored, as gunzip does."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)
        self._rest = b""
        self._is_over = False

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """Yield the next pieces."""
        for part in _parts(raw):
            yield from self._pieces_of_part(part)

    def is_whole(self) -> bool:
        """Return whether the last member is at its end."""
        return self._stream.eof

    def _pieces_of_part(self, part: bytes) -> Iterator[bytes]:
        data, self._rest = self._rest + part, b""
        while data and not self._is_over:
            if self._stream.eof:
                if data == _GZIP_START[:1]:
                    self._rest = data
                    return
                if not data.startswith(_GZIP_START):
                    self._is_over = True
                    return
                self._stream = zlib.decompressobj(wbits=31)
            yield from _inflate(self._stream, data)
            data = self._stream.unused_data


class Deflate:
    """deflate with the zlib header of the RFC, or without, as some servers send it."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj()
        self._has_begun = False

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """Yield the next pieces."""
        if not self._has_begun and raw:
            self._has_begun = True
            if raw[0] & 0x0F != zlib.DEFLATED:  # the first byte of a zlib header names the method
                self._stream = zlib.decompressobj(wbits=-15)
        for part in _parts(raw):
            yield from _inflate(self._stream, part)

    def is_whole(self) -> bool:
        """Return whether the stream is at its end."""
        return self._stream.eof


class Brotli:
    """br."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """Yield the next pieces."""
        data = raw
        while True:
            try:
                piece = self._stream.process(data, output_buffer_limit=_PIECE_BYTES)
            except brotli.error as error:
                raise _broken(error) from error
            if not piece and self._stream.can_accept_more_data():
                return
            data = b""
            yield piece

    def is_whole(self) -> bool:
        """Return whether the stream is at its end."""
        return bool(self._stream.is_finished())


_DECODERS: Final[dict[str, type[Plain | Gzip | Deflate | Brotli]]] = {
    "": Plain,
    "identity": Plain,
    "gzip": Gzip,
    "x-gzip": Gzip,
    "deflate": Deflate,
    "br": Brotli,
}


def decoder_for(content_encoding: str) -> Decoder:
    """Return a new decoder for a value of the header `Content-Encoding`; only one encoding is supported.

    Raises:
        FetchFailed: ENCODING_UNKNOWN.
    """
    name = content_encoding.strip().lower()
    if name not in _DECODERS:
        raise FetchFailed("ENCODING_UNKNOWN", f"The response has the Content-Encoding {name[:40]!r}")
    return _DECODERS[name]()


def _parts(raw: bytes) -> Iterator[bytes]:
    # zlib returns unused input as a copy, at each step and each member: that is cheap only for short inputs.
    return (raw[start : start + _PART_BYTES] for start in range(0, len(raw), _PART_BYTES))


def _inflate(stream: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Yield the decompressed bytes of `data`, up to the end of the stream."""
    while not stream.eof:
        try:
            piece = stream.decompress(data, _PIECE_BYTES)
        except zlib.error as error:
            raise _broken(error) from error
        yield piece
        data = stream.unconsumed_tail
        if not data and len(piece) < _PIECE_BYTES:  # after a full piece, output may remain although all input is used
            return


def _broken(error: Exception) -> FetchFailed:
    return FetchFailed("ENCODING_BROKEN", f"The compressed response cannot be decompressed ({error})")
