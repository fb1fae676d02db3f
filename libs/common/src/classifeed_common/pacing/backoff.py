"""Backoff: pauses between attempts that double, for every loop that retries."""

from __future__ import annotations


class Backoff:
    """Pauses that double after each fault, from the first to the longest, until `reset`.

    Args:
        first_s: first pause, in seconds.
        longest_s: longest pause, in seconds; None: all pauses are as long as the first.
    """

    def __init__(self, first_s: float, longest_s: float | None = None) -> None:
        self._longest_s = first_s if longest_s is None else longest_s
        self._first_s = self._next_s = min(first_s, self._longest_s)

    def next_s(self) -> float:
        """Return the pause before the next attempt, in seconds; the following one is twice as long."""
        pause_s = self._next_s
        self._next_s = min(pause_s * 2, self._longest_s)
        return pause_s

    def reset(self) -> None:
        """Begin with the first pause again, after an attempt has succeeded."""
        self._next_s = self._first_s
