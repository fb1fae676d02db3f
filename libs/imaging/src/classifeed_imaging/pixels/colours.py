"""Colours as browsers show them: sRGB with eight bits per channel, with alpha if there is any."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Final

import numpy as np
from PIL import Image, ImageCms

# Colour spaces of profiles, each with the matching mode of a picture.
_PROFILE_MODES: Final = {"RGB ": "RGB", "GRAY": "L", "CMYK": "CMYK"}


def has_alpha(image: Image.Image) -> bool:
    """Return whether some pixels of a picture may be transparent."""
    return image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info


def to_eight_bits(image: Image.Image) -> Image.Image:
    """Return the picture in the mode L, RGB, RGBA or CMYK; of 16 bits, the lower 8 are dropped."""
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode == "I":
        return Image.fromarray((np.clip(np.asarray(image), 0, 65535) >> 8).astype(np.uint8))
    if has_alpha(image):
        return image.convert("RGBA")
    return image if image.mode in ("L", "RGB", "CMYK") else image.convert("L" if image.mode == "1" else "RGB")


def to_srgb(image: Image.Image, profile: bytes) -> Image.Image:
    """Return an L, RGB, RGBA or CMYK picture as RGB or RGBA, with colours converted by its ICC profile.

    Like in browsers, a profile that is damaged or does not match the picture is ignored.
    """
    alpha = image.getchannel("A") if image.mode == "RGBA" else None
    colours = image.convert("RGB") if alpha else image
    transform = _find_transform(profile, colours.mode) if profile else None
    converted = colours.convert("RGB") if transform is None else ImageCms.applyTransform(colours, transform)
    if converted is None:  # happens only for a transform in place
        return image
    if alpha:
        converted.putalpha(alpha)
    return converted


def on_white(image: Image.Image) -> Image.Image:
    """Return an RGB or RGBA picture as RGB on a white background."""
    if image.mode != "RGBA":
        return image
    flat = Image.new("RGB", image.size, (255, 255, 255))
    flat.paste(image, mask=image.getchannel("A"))
    return flat


@lru_cache(maxsize=16)
def _find_transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """Return the colour transform; None if colours are sRGB already or the profile is unusable."""
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if _PROFILE_MODES.get(source.profile.xcolor_space) != mode:
            return None
        if mode == "RGB" and "srgb" in (source.profile.profile_description or "").lower():
            return None
        return ImageCms.buildTransform(source, _srgb(), mode, "RGB")
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None


@lru_cache(maxsize=1)
def _srgb() -> ImageCms.ImageCmsProfile:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
