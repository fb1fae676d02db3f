"""Decompress DEFLATE in bounded pieces."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from classifeed_feeds.faults import FeedFault

# zlib copies the unused input at each call and each member, which is cheap for short inputs only.
INPUT_BYTES = 32 << 10


class Inflater:
    """A raw DEFLATE stream (RFC 1951).

    Args:
        take: Function that returns up to a number of packed bytes; empty at the end of the file.
        container: Name of the archive's format, for messages.
    """

    def __init__(self, take: Callable[[int], bytes], container: str) -> None:
        self._take = take
        self._container = container
        self._stream = zlib.decompressobj(wbits=-15)
        self._input = b""

    def read(self, size: int) -> bytes:
        """Return at least one byte and at most `size`; empty at the end of the stream.

        Raises:
            FeedFault: ARCHIVE_BROKEN.
        """
        while not self._stream.eof:
            if not self._input:
                self._input = self._take(INPUT_BYTES)
            is_cut_off = not self._input
            try:
                piece = self._stream.decompress(self._input, size)
            except zlib.error as error:
                raise FeedFault("ARCHIVE_BROKEN", f"The {self._container} archive is damaged ({error})") from error
            self._input = self._stream.unconsumed_tail
            if piece:
                return piece
            if is_cut_off and not self._stream.eof:
                raise cut_off(self._container)
        return b""

    @property
    def rest(self) -> bytes:
        """The packed bytes that were taken but are after the end of the stream."""
        return self._stream.unused_data


def cut_off(container: str) -> FeedFault:
    """Return the fault of an archive that ends too early."""
    return FeedFault("ARCHIVE_BROKEN", f"The {container} archive ends too early: it is cut off")
