"""Chooses the format of a picture for a client by its header Accept (RFC 9110, 12.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MEDIA_TYPES: Final = {
    "jpeg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "gif": "image/gif",
    "avif": "image/avif",
}
# Smallest files first: a client gets the first of the formats that it accepts equally.
_PREFERRED: Final = ("avif", "webp", "jpeg", "png")


def choose_format(accept: str, formats: Sequence[str]) -> str:
    """Return one of the available formats.

    A client that names none of them gets the first format of its namespace, which any client can show: `image/*` is
    also sent by programs that support only JPEG.
    """
    weights = _weights_of(accept)
    named = [format_ for format_ in formats if weights.get(MEDIA_TYPES[format_], 0.0) > 0]
    if not named:
        return formats[0]
    return max(named, key=lambda each: (weights[MEDIA_TYPES[each]], -_PREFERRED.index(each)))


def _weights_of(accept: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for item in accept.split(","):
        media_type, *parameters = (part.strip().lower() for part in item.split(";"))
        weight = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    weight = float(value)
                except ValueError:
                    weight = 0.0
        weights[media_type] = weight
    return weights
