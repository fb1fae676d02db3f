"""What a response says to those who would show it in a search: `X-Robots-Tag`."""

from __future__ import annotations

from typing import Final

NOINDEX: Final = "PICTURE_NOINDEX"
"""The host of a picture forbids that searches show it."""
_FORBID: Final = frozenset({"noimageindex", "noindex", "none"})
# Rules with a value; every other name before a colon is that of a robot.
_VALUED: Final = frozenset({"max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"})
_OURS: Final = frozenset({"*", "classifeed"})


def forbids_showing(robots_tag: str) -> bool:
    """Return whether a response forbids that its picture is shown in a search.

    `none` is `noindex, nofollow`, and `noindex` is of media, too. What is addressed to another robot is not for us.

    Args:
        robots_tag: the values of all headers `X-Robots-Tag`, a line for each.
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
