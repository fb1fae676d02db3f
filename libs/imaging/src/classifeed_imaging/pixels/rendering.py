"""Decodes a checked file into a small upright picture in sRGB, and renders smaller versions of it."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from PIL import AvifImagePlugin, Image

from classifeed_imaging.faults import DecodeFailed, broken
from classifeed_imaging.limits import Limits, check_size, too_much_memory
from classifeed_imaging.model import SizeSpec
from classifeed_imaging.pixels.colours import has_alpha, to_eight_bits, to_srgb

# A smaller side would blur details that the hashes need.
LEAST_SIDE: Final = 128
_BAND_ROWS: Final = 512
_ORIENTATION: Final = 0x0112
_TURNS: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

# Our own limits are checked before. Threads would multiply the memory of each picture.
Image.MAX_IMAGE_PIXELS = None
AvifImagePlugin.DEFAULT_MAX_THREADS = 1


def open_image(data: bytes, format_name: str, limits: Limits) -> tuple[Image.Image, int]:
    """Return the picture, not decoded yet, and its orientation, 1 to 8.

    Raises:
        DecodeFailed: the library rejects it, or its size differs from that of its container.
    """
    with translated_errors():
        image = Image.open(io.BytesIO(data), formats=[format_name.upper()])
        check_size(*image.size, limits)
        return image, _read_orientation(image)


def is_sideways(orientation: int) -> bool:
    """Return whether turning the picture upright swaps width and height."""
    return orientation >= 5


def load_base(image: Image.Image, orientation: int, sizes: Sequence[SizeSpec]) -> Image.Image:
    """Return the first frame upright, in sRGB, at least as large as the sizes need and not much larger.

    Memory holds the full picture once, in the mode of its file; conversions see a band of it or the reduced picture.

    Raises:
        DecodeFailed: the pixels are damaged.
    """
    with translated_errors():
        width, height = image.size
        if is_sideways(orientation):
            width, height = height, width
        scale = min(
            1.0, max([LEAST_SIDE / max(min(width, height), 1), *(_scale(width, height, size) for size in sizes)])
        )
        wanted = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        if image.format == "JPEG":
            image.draft("", wanted)
        image.load()
        profile = image.info.get("icc_profile") or b""
        factor = max(1, min(image.width // wanted[0], image.height // wanted[1]))
        base = to_srgb(_shrink(image, factor), profile if isinstance(profile, bytes) else b"")
        # Otherwise Pillow would write the profile into each version, whose colours no longer match it.
        base.info.clear()
        if orientation in _TURNS:
            base = base.transpose(_TURNS[orientation])
        return base


def render(
    base: Image.Image, full: tuple[int, int], sizes: Iterable[SizeSpec]
) -> Iterator[tuple[SizeSpec, Image.Image]]:
    """Yield the picture in each size, never larger than the original of size `full`."""
    larger: list[Image.Image] = []
    for size in sorted(sizes, key=lambda each: -each.width * each.height):
        if size.crop:
            yield size, _crop(base, full, size)
            continue
        scale = min(1.0, size.width / full[0], size.height / full[1])
        target = (max(1, round(full[0] * scale)), max(1, round(full[1] * scale)))
        # The smallest picture that is large enough, so that each size is made from the previous one.
        source = min(
            (each for each in [base, *larger] if each.width >= target[0] and each.height >= target[1]),
            key=lambda each: each.width * each.height,
            default=base,
        )
        version = source if source.size == target else source.resize(target, Image.Resampling.HAMMING)
        larger.append(version)
        yield size, version


def _scale(width: int, height: int, size: SizeSpec) -> float:
    scales = (size.width / width, size.height / height)
    return max(scales) if size.crop else min(scales)


def _crop(base: Image.Image, full: tuple[int, int], size: SizeSpec) -> Image.Image:
    """Return the centre of the picture in the shape of the box, no larger than the available pixels."""
    scale = min(1.0, full[0] / size.width, full[1] / size.height)
    target = (max(1, round(size.width * scale)), max(1, round(size.height * scale)))
    shape = min(base.width / target[0], base.height / target[1])
    across, down = target[0] * shape, target[1] * shape
    left, top = (base.width - across) / 2, (base.height - down) / 2
    return base.resize(target, Image.Resampling.HAMMING, box=(left, top, left + across, top + down))


def _shrink(image: Image.Image, factor: int) -> Image.Image:
    """Return the picture with eight bits, reduced by `factor`; band by band, so that memory holds it only once."""
    if factor == 1:
        return to_eight_bits(image)
    rows = max(factor, _BAND_ROWS // factor * factor)
    target: Image.Image | None = None
    for top in range(0, image.height, rows):
        band = image.crop((0, top, image.width, min(top + rows, image.height)))
        if has_alpha(image):
            band.info.update(image.info)
        small = to_eight_bits(band).reduce(factor)
        if target is None:
            target = Image.new(small.mode, (small.width, -(-image.height // factor)))
        target.paste(small, (0, top // factor))
    return target or to_eight_bits(image)


def _read_orientation(image: Image.Image) -> int:
    value = image.getexif().get(_ORIENTATION, 1)
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate exceptions of Pillow into faults; its warnings about damaged files are ignored."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except DecodeFailed:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or "memory" in str(error).lower():
            raise too_much_memory("The picture") from error
        if "truncated" in str(error):
            raise broken("The picture is cut off: not all of its pixels are there.") from error
        raise broken("The pixels of the picture are damaged.") from error
