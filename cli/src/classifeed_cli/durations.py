"""Durations as typed on the command line: 10m, 1h, 1h30m, 90s, 1d, or plain seconds."""

from __future__ import annotations

import re
from itertools import pairwise

import typer

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
_LONGEST_S = 366 * 86_400


def parse_duration(text: str) -> float:
    """Return a typed duration in seconds.

    Raises:
        typer.BadParameter: The text is not a duration.
    """
    compact = re.sub(r"\s+", "", text.lower())
    parts = _PART.findall(compact)
    units = [unit for _, unit in parts]
    is_whole = "".join(number + unit for number, unit in parts) == compact
    # Units must decrease, once each, with a number each: 30m1h, 10m10m and 1h30 are errors.
    falls = all(_SECONDS[earlier] > _SECONDS[later] for earlier, later in pairwise(units))
    duration_s = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    has_units = len(units) == 1 or "" not in units
    if not (is_whole and falls and has_units and 0 < duration_s <= _LONGEST_S):
        raise typer.BadParameter(f"{text!r} is not a duration; write it as 90s, 10m, 1h, 1h30m or 1d")
    return duration_s
