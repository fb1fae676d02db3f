"""Checks that the format in a feed's settings can be loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from classifeed_api.domain.feed_settings import check_format
from classifeed_api.domain.unknown import UNKNOWN, Unknown


class Formats(Protocol):
    """The processor, as this check needs it."""

    async def list_formats(self) -> Sequence[str] | Unknown:
        """Return the names of all formats; UNKNOWN if the processor does not respond."""


class CheckFormat:
    """Checks a format with the processor. If the processor is unavailable, any format passes; the load reports a wrong
    one.
    """

    def __init__(self, formats: Formats) -> None:
        self._formats = formats

    async def __call__(self, given: str, *, field: str) -> None:
        """Return if the format can be loaded, or if no format is given.

        Raises:
            InvalidArgument: the format is unknown; the error names `field` and the known formats.
        """
        if not given:
            return
        known = await self._formats.list_formats()
        if known is not UNKNOWN:
            check_format(given, known, field=field)
