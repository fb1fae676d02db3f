"""Undoing DEFLATE a bounded piece at a time."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from classifeed_processor.domain.faults import FeedFault

# zlib returns what it has not used as a copy, at each call and each member: cheap for short inputs only.
INPUT_BYTES = 32 << 10


class Inflater:
    """One DEFLATE stream without any wrapping (RFC 1951).

    Args:
        take: Returns up to so many packed bytes; empty at the end of the file.
        container: What the stream is a part of, for messages.
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
        """The packed bytes that were taken and lie behind the end of the stream."""
        return self._stream.unused_data


def cut_off(container: str) -> FeedFault:
    """Return the fault of an archive that ends too early."""
    return FeedFault("ARCHIVE_BROKEN", f"The {container} archive ends too early: it is cut off")
