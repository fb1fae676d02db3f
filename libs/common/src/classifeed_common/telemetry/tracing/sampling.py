"""Which of many alike pieces of one load get spans: the first ones, and ever fewer of the later ones."""

from __future__ import annotations


def is_sampled(number: int) -> bool:
    """Whether the piece with this number, from 1, gets spans: 1 to 10, 20, 30 … 100, 200 … 1,000, 2,000 and so on.

    So a load of any size has at most nine for each power of ten: 37 of 10,000.
    """
    step = 1
    while number > step * 10:
        step *= 10
    return number % step == 0
