"""The result of a container parser, and helpers for reading bytes."""

from __future__ import annotations

from dataclasses import dataclass

from classifeed_imaging.faults import broken


@dataclass(frozen=True, slots=True)
class Container:
    """A file whose structure is complete and within the limits.

    Attributes:
        width: width of the stored pixels, before the picture is turned upright.
        height: height of the stored pixels, before the picture is turned upright.
        frames: number of frames; 1 for a still picture.
        clean: the file without metadata.
    """

    width: int
    height: int
    frames: int
    clean: bytes


def ends_early(position: int) -> Exception:
    """Return the fault of a file that is cut off."""
    return broken(f"The file is cut off: its content continues after the last byte (from byte {position}).")


def take(data: bytes, position: int, size: int) -> bytes:
    """Return `size` bytes from a position.

    Raises:
        DecodeFailed: the file ends before.
    """
    if position + size > len(data):
        raise ends_early(position)
    return data[position : position + size]
