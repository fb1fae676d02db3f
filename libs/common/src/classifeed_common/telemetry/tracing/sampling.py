"""Sampling of the similar parts of one load: the first ones get spans, later ones less and less often."""

from __future__ import annotations


def is_sampled(number: int) -> bool:
    """Return whether the part with this number, from 1, gets spans: 1 to 10, 20, 30 … 100, 200 … and so on.

    A load of any size has at most nine per power of ten: 37 of 10,000.
    """
    step = 1
    while number > step * 10:
        step *= 10
    return number % step == 0
