"""What a parser finds out about a file, and where bytes are read."""

from __future__ import annotations

from dataclasses import dataclass

from classifeed_pictures.decoding.faults import broken


@dataclass(frozen=True, slots=True)
class Container:
    """A file whose structure is whole and within the limits.

    Attributes:
        width: of its pixels as they are stored, before they are turned upright.
        height: the same.
        frames: of an animation; 1 for a still picture.
        clean: the file without metadata.
    """

    width: int
    height: int
    frames: int
    clean: bytes


def ends_early(position: int) -> Exception:
    """Return the fault of a file that ends where more must follow."""
    return broken(f"The file is cut off: its content continues after the last byte (from byte {position}).")


def take(data: bytes, position: int, size: int) -> bytes:
    """Return `size` bytes from a position.

    Raises:
        DecodeFailed: the file ends before.
    """
    if position + size > len(data):
        raise ends_early(position)
    return data[position : position + size]
