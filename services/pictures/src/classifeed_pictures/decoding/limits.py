"""How large a picture may be; checked on what its container says, before anything is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed_pictures.decoding.faults import TOO_MANY_FRAMES, TOO_MANY_PIXELS, TOO_MUCH_MEMORY, DecodeFailed, broken

MIB: Final = 1024 * 1024
# What an interpreter with its libraries takes before the first picture, as address space.
_BASE_BYTES: Final = 144 * MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """What a picture may take.

    Attributes:
        pixels: of one frame.
        side: width or height in pixels.
        frames: of an animation.
        animation_pixels: of all frames of an animation together. We decode the first one, those who look at it all.
        scans: of a progressive JPEG; each costs a pass over all its pixels, however few bytes it has.
        memory_bytes: address space of the process that decodes.
    """

    pixels: int = 50_000_000
    side: int = 32_768
    frames: int = 500
    animation_pixels: int = 1_000_000_000
    scans: int = 100
    memory_bytes: int = 512 * MIB


def check_size(width: int, height: int, limits: Limits) -> None:
    """Check the size of a frame.

    Raises:
        DecodeFailed: there are no pixels, or too many.
    """
    if width < 1 or height < 1:
        raise broken(f"The picture says that it is {width} × {height} pixels large.")
    if width > limits.side or height > limits.side or width * height > limits.pixels:
        raise DecodeFailed(
            TOO_MANY_PIXELS,
            f"The picture is {width} × {height} pixels large; at most {limits.pixels / 1e6:g} megapixels and "
            f"{limits.side} pixels a side are accepted. Publish a smaller version.",
        )


def check_frames(frames: int, width: int, height: int, limits: Limits) -> None:
    """Check how many frames an animation has.

    Raises:
        DecodeFailed: too many, or too many pixels in all of them together.
    """
    if frames > limits.frames:
        raise DecodeFailed(
            TOO_MANY_FRAMES,
            f"The animation has more than {limits.frames} frames. Publish a shorter one, or one picture of it.",
        )
    if frames > 1 and frames * width * height > limits.animation_pixels:
        raise DecodeFailed(
            TOO_MANY_PIXELS,
            f"The animation has {frames} frames of {width} × {height} pixels; at most "
            f"{limits.animation_pixels / 1e6:g} megapixels in all are accepted. Publish a smaller or a shorter one.",
        )


def check_memory(name: str, width: int, height: int, bytes_per_pixel: float, limits: Limits) -> None:
    """Check that a library that holds so many bytes per pixel at its peak can decode a picture within the memory.

    Raises:
        DecodeFailed: it would need more.
    """
    if width * height * bytes_per_pixel + _BASE_BYTES > limits.memory_bytes:
        raise too_much_memory(f"A {name} picture of {width} × {height} pixels")


def too_much_memory(subject: str) -> DecodeFailed:
    """Return the fault of a picture for which the memory of a process is not enough."""
    return DecodeFailed(
        TOO_MUCH_MEMORY,
        f"{subject} needs more memory than decoding may take. Publish a smaller one, or a plain JPEG.",
    )
