"""Look-up of time zones by IANA name."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def find_zone(name: str) -> ZoneInfo:
    """Return the time zone with an IANA name.

    Raises:
        ValueError: there is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # OSError: it names a folder of zones
        raise ValueError(f"there is no time zone {name!r}") from error
