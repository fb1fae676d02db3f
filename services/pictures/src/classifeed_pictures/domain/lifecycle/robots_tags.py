"""The header `X-Robots-Tag`, by which a host forbids searches to show a picture."""

from __future__ import annotations

from typing import Final

NOINDEX: Final = "PICTURE_NOINDEX"
"""The host of a picture forbids searches to show it."""
_FORBID: Final = frozenset({"noimageindex", "noindex", "none"})
# Rules with a value; any other name before a colon is the name of a robot.
_VALUED: Final = frozenset({"max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"})
_OURS: Final = frozenset({"*", "classifeed"})


def forbids_showing(robots_tag: str) -> bool:
    """Return whether a response forbids searches to show its picture.

    `none` means `noindex, nofollow`, and `noindex` applies to media, too. Rules for other robots are ignored.

    Args:
        robots_tag: values of all headers `X-Robots-Tag`, one per line.
    """
    for line in robots_tag.splitlines():
        is_for_us = True
        for part in line.lower().split(","):
            name, colon, rest = (piece.strip() for piece in part.partition(":"))
            if colon and name in _VALUED:
                continue
            if colon:
                is_for_us, name = name in _OURS, rest
            if is_for_us and name in _FORBID:
                return True
    return False
