"""Limits of pictures, checked on the values in the container before anything is decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from classifeed_imaging.faults import TOO_MANY_FRAMES, TOO_MANY_PIXELS, TOO_MUCH_MEMORY, DecodeFailed, broken

MIB: Final = 1024 * 1024
# Address space of an interpreter with its libraries before the first picture.
_BASE_BYTES: Final = 144 * MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a picture.

    Attributes:
        pixels: maximum number of pixels of a frame.
        side: maximum width or height in pixels.
        frames: maximum number of frames of an animation.
        animation_pixels: maximum number of pixels in all frames; the service decodes only the first one, clients all.
        scans: maximum number of scans of a progressive JPEG; each costs a pass over all pixels, even if it has few
            bytes.
        memory_bytes: address space of the decoding process.
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
        raise broken(f"The picture has an impossible size of {width} × {height} pixels.")
    if width > limits.side or height > limits.side or width * height > limits.pixels:
        raise DecodeFailed(
            TOO_MANY_PIXELS,
            f"The picture is {width} × {height} pixels large; at most {limits.pixels / 1e6:g} megapixels and "
            f"{limits.side} pixels a side are accepted. Publish a smaller version.",
        )


def check_frames(frames: int, width: int, height: int, limits: Limits) -> None:
    """Check the number of frames of an animation.

    Raises:
        DecodeFailed: there are too many, or too many pixels in all of them together.
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
    """Check that a library with a peak of `bytes_per_pixel` can decode a picture within the memory limit.

    Raises:
        DecodeFailed: it would need more.
    """
    if width * height * bytes_per_pixel + _BASE_BYTES > limits.memory_bytes:
        raise too_much_memory(f"A {name} picture of {width} × {height} pixels")


def too_much_memory(subject: str) -> DecodeFailed:
    """Return the fault of a picture that needs more memory than its process may use."""
    return DecodeFailed(
        TOO_MUCH_MEMORY,
        f"{subject} needs more memory than decoding may take. Publish a smaller one, or a plain JPEG.",
    )
