"""Cron: due times of five-field expressions in a time zone, with daylight saving time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NICKNAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_WIDEST_SHIFT: Final = timedelta(hours=3)
_LONGEST_SEARCH_DAYS: Final = 366 * 41  # 29 February on one day of the week may be forty years away


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed expression: minute, hour, day of the month, month, day of the week.

    As in Vixie's cron (crontab(5)), if both days are restricted, it is due on either of them; Sunday is 0 or 7.

    When the clock is put forward, a time inside the gap is shifted by the length of the gap. When it is put back, a
    time that occurs twice is due once. Expressions whose hour begins with * follow the elapsed time instead.
    """

    expression: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    every_hour: bool

    @classmethod
    @lru_cache(maxsize=1000)
    def parse(cls, expression: str) -> Cron:
        """Parse an expression, or one of @hourly, @daily, @weekly, @monthly and @yearly.

        Raises:
            ValueError: The expression is invalid, or has no such day (30 February).
        """
        fields = _NICKNAMES.get(expression.strip().lower(), expression).split()
        if len(fields) != 5:
            raise ValueError(f"cron {expression!r} has {len(fields)} fields, not 5: minute hour day month weekday")
        minute, hour, day, month, weekday = fields
        cron = cls(
            expression,
            tuple(sorted(_field(expression, minute, 0, 59))),
            tuple(sorted(_field(expression, hour, 0, 23))),
            frozenset(_field(expression, day, 1, 31)),
            frozenset(_field(expression, month, 1, 12, _MONTHS, first=1)),
            frozenset(value % 7 for value in _field(expression, weekday, 0, 7, _DAYS)),
            either_day=not day.startswith("*") and not weekday.startswith("*"),
            every_hour=hour.startswith("*"),
        )
        if next(cron._local_from(datetime(2000, 1, 1)), None) is None:
            raise ValueError(f"cron {expression!r} is never due: there is no such day")
        return cron

    def next_after(self, moment: datetime, zone: ZoneInfo) -> datetime:
        """Return the first due time after `moment`, in UTC; the expression is evaluated in `zone`."""
        begin = moment.astimezone(zone).replace(tzinfo=None) - _WIDEST_SHIFT
        found: datetime | None = None
        for local in self._local_from(begin):
            # When the clock is put back, local times are not in the order of UTC: search a little further.
            if found is not None and local > found.astimezone(zone).replace(tzinfo=None) + _WIDEST_SHIFT:
                break
            for due in self._moments(local, zone):
                if due > moment and (found is None or due < found):
                    found = due
        if found is None:
            raise ValueError(f"cron {self.expression!r} is never due")
        return found

    def _moments(self, local: datetime, zone: ZoneInfo) -> list[datetime]:
        first, second = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        exists = first.astimezone(zone).replace(tzinfo=None) == local
        if self.every_hour:
            return sorted({first, second}) if exists else []
        return [first]

    def _local_from(self, begin: datetime) -> Iterator[datetime]:
        """Yield the local due times, from `begin` on."""
        for offset in range(_LONGEST_SEARCH_DAYS):
            day = begin.date() + timedelta(days=offset)
            if not self._has_day(day):
                continue
            for hour in self.hours:
                for minute in self.minutes:
                    local = datetime.combine(day, time(hour, minute))
                    if local >= begin:
                        yield local

    def _has_day(self, day: date) -> bool:
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (in_month or in_week if self.either_day else in_month and in_week)


def _field(expression: str, text: str, low: int, high: int, names: tuple[str, ...] = (), *, first: int = 0) -> set[int]:
    """Return the values of one field: lists of `*`, `a`, `a-b`, each with `/step`."""
    values: set[int] = set()
    for part in text.lower().split(","):
        span, _, step_text = part.partition("/")
        begin_text, _, end_text = span.partition("-")
        try:
            step = int(step_text) if step_text or "/" in part else 1
            begin = low if span == "*" else _value(begin_text, names, first)
            end = (
                high
                if span == "*" or ("/" in part and "-" not in span)
                else _value(end_text or begin_text, names, first)
            )
        except ValueError:
            raise ValueError(f"cron {expression!r}: {part!r} is not a value, range or step") from None
        if step < 1 or not low <= begin <= end <= high:
            raise ValueError(f"cron {expression!r}: {part!r} does not lie in {low}-{high}")
        values.update(range(begin, end + 1, step))
    return values


def _value(text: str, names: tuple[str, ...], first: int) -> int:
    return names.index(text) + first if text in names else int(text)
