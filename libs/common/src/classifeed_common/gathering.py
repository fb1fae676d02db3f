"""Gathering: a pause after a transaction that is dear by itself, in which records of the next one come together."""

from __future__ import annotations

from typing import Final

_TIMES: Final = 3


def pause_after(took_s: float, *, longest_s: float) -> float:
    """Return how long to let records gather, in seconds: three times what the last ones took.

    So this work gets a quarter of the time at most, and what comes after a quiet moment does not wait.

    Args:
        took_s: how long the last transaction took.
        longest_s: the longest pause, whatever it took.
    """
    return min(longest_s, _TIMES * took_s)
