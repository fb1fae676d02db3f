"""Checks that the format that a feed requests is one that can be loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from classifeed_api.domain.feed_settings import check_format
from classifeed_api.domain.unknown import UNKNOWN, Unknown


class Formats(Protocol):
    """The processor, as this check needs it."""

    async def list_formats(self) -> Sequence[str] | Unknown:
        """Return the names of all formats; UNKNOWN when it does not respond."""


class CheckFormat:
    """Checks with the processor, and takes any format while it is away: the load reports what is wrong then."""

    def __init__(self, formats: Formats) -> None:
        self._formats = formats

    async def __call__(self, given: str, *, field: str) -> None:
        """Return if the format can be loaded, or is none in particular.

        Raises:
            InvalidArgument: it cannot; the error names `field` and the formats that can.
        """
        if not given:
            return
        known = await self._formats.list_formats()
        if known is not UNKNOWN:
            check_format(given, known, field=field)
