"""Reasons why bytes cannot be stored as a picture: stable codes, each with a message for the publisher."""

from __future__ import annotations

from typing import Final

NOT_A_PICTURE: Final = "PICTURE_NOT_A_PICTURE"
UNSUPPORTED: Final = "PICTURE_UNSUPPORTED"
TOO_MANY_PIXELS: Final = "PICTURE_TOO_MANY_PIXELS"
TOO_MANY_FRAMES: Final = "PICTURE_TOO_MANY_FRAMES"
BROKEN: Final = "PICTURE_BROKEN"
DECODE_TIMEOUT: Final = "PICTURE_DECODE_TIMEOUT"
TOO_MUCH_MEMORY: Final = "PICTURE_TOO_MUCH_MEMORY"

CODES: Final = (
    NOT_A_PICTURE,
    UNSUPPORTED,
    TOO_MANY_PIXELS,
    TOO_MANY_FRAMES,
    BROKEN,
    DECODE_TIMEOUT,
    TOO_MUCH_MEMORY,
)


class DecodeFailed(Exception):
    """The bytes are refused; a retry with the same bytes is refused, too.

    Args:
        code: one of CODES, for programs.
        message: what is wrong with the picture, and how to publish one that is accepted.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class NotAPicture(DecodeFailed):
    """The bytes are no picture, but for example a web page, an archive or a document."""

    def __init__(self, message: str) -> None:
        super().__init__(NOT_A_PICTURE, message)


def make_fault(code: str, message: str) -> DecodeFailed:
    """Return the exception for a code that came from another process."""
    return NotAPicture(message) if code == NOT_A_PICTURE else DecodeFailed(code, message)


def broken(message: str) -> DecodeFailed:
    """Return the fault of a file whose structure is damaged or cut off."""
    return DecodeFailed(BROKEN, f"{message} Publish the picture again; a browser or an editor must show all of it.")


def unsupported(message: str) -> DecodeFailed:
    """Return the fault of a file of an unsupported kind, which may be intact."""
    return DecodeFailed(UNSUPPORTED, f"{message} Publish it as JPEG, PNG, WebP, GIF or AVIF.")
