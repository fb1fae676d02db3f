"""Parser of the header `Retry-After` (RFC 9110, section 10.2.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_LONGEST_S: Final = 24 * 3600.0
_SECONDS: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_MANY: Final = re.compile(r"\+?\d{19,}", re.ASCII)


def parse_retry_after(value: str, now: datetime) -> float | None:
    """Return the seconds in the header `Retry-After`, 0 to 24 h; None if it cannot be read.

    Args:
        value: a number of seconds, or a date.
        now: reference time for a date.
    """
    text = value.strip()
    if _MANY.fullmatch(text):
        return _LONGEST_S
    if _SECONDS.fullmatch(text):
        wait_s = float(text)
    else:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        wait_s = (moment - now).total_seconds()
    return min(max(wait_s, 0.0), _LONGEST_S)
