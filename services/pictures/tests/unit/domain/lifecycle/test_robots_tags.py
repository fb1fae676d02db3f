"""Values of `X-Robots-Tag` that forbid a picture to be shown."""

from __future__ import annotations

import pytest

from classifeed_pictures.domain.lifecycle.robots_tags import forbids_showing


@pytest.mark.parametrize(
    "robots_tag",
    [
        "noimageindex",
        "nofollow, NoImageIndex",
        "noindex",
        "none",
        "classifeed: noimageindex",
        "*: none",
        "googlebot: nofollow\nnoindex",
        "max-snippet: 20, noindex",
        "googlebot: noindex, classifeed: none",
    ],
)
def test_forbidden(robots_tag: str) -> None:
    assert forbids_showing(robots_tag)


@pytest.mark.parametrize(
    "robots_tag",
    [
        "",
        "all",
        "nofollow, noarchive",
        "max-image-preview: none",
        "googlebot: noindex, noimageindex",
        "unavailable_after: 25 Jun 2030 15:00:00 PST",
        "noindexing",
    ],
)
def test_allowed(robots_tag: str) -> None:
    assert not forbids_showing(robots_tag)
