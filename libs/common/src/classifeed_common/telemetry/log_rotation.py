"""Rotation rules of log files: `10 MB`, `1 day`, `midnight`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

_FORM = re.compile(r"(?P<count>[1-9][0-9]{0,8})\s*(?P<unit>[a-z]+)", re.IGNORECASE)
_BYTES: Final = {"kb": 1024, "mb": 1024**2, "gb": 1024**3}
_DAY_S: Final = 86_400
_SECONDS: Final = {"hour": 3600, "day": _DAY_S, "week": 7 * _DAY_S}
_MONDAY_S: Final = 4 * _DAY_S  # 1970 began on a Thursday; weeks begin on Mondays


@dataclass(frozen=True, slots=True)
class Rotation:
    """A rotation rule; exactly one of the two values is set.

    Attributes:
        max_bytes: largest size of the file.
        period_s: hours, days or weeks of local time, in seconds; the first line of the next period begins a new file.
    """

    max_bytes: int | None = None
    period_s: int | None = None

    @classmethod
    def parse(cls, text: str) -> Rotation:
        """Parse a size (KB, MB, GB, of 1024), a period (hours, days, weeks) or `midnight`, which is a day.

        Raises:
            ValueError: the text has another form.
        """
        if text.strip().lower() == "midnight":
            return cls(period_s=_DAY_S)
        if (found := _FORM.fullmatch(text.strip())) is not None:
            count, unit = int(found["count"]), found["unit"].lower()
            if unit in _BYTES:
                return cls(max_bytes=count * _BYTES[unit])
            if (span := unit.removesuffix("s")) in _SECONDS:
                return cls(period_s=count * _SECONDS[span])
        raise ValueError('must be a size ("10 MB"; KB, MB, GB), a span ("1 day"; hours, days, weeks) or "midnight"')

    def is_due(self, *, size_bytes: int, written_at: float, now: float, zone: tzinfo) -> bool:
        """Return whether the next line must begin a new file.

        Args:
            size_bytes: size of the file with this line.
            written_at: time of the last line, in seconds since 1970.
            now: time of the next line, in seconds since 1970.
            zone: time zone of periods.
        """
        if self.max_bytes is not None:
            return size_bytes > self.max_bytes
        return self._span_of(written_at, zone) < self._span_of(now, zone)

    def _span_of(self, moment: float, zone: tzinfo) -> int:
        offset = datetime.fromtimestamp(moment, zone).utcoffset()
        wall_s = moment + (offset.total_seconds() if offset is not None else 0.0)
        return int((wall_s - _MONDAY_S) // (self.period_s or _DAY_S))
