"""Refusals: rows that the receiver refused, paused so that they delay no others."""

from __future__ import annotations

from collections.abc import Hashable

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_FORGET_AFTER_S = 120.0


class Refusals:
    """Paused row versions with the ends of their pauses; each refusal doubles the pause."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, tuple[int, float]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def refuse(self, identity: Hashable, now_s: float) -> None:
        """Record another refusal."""
        count = self._waiting.get(identity, (0, 0.0))[0]
        self._waiting[identity] = (count + 1, now_s + min(_FIRST_PAUSE_S * 2**count, _LONGEST_PAUSE_S))

    def settle(self, identity: Hashable) -> None:
        """Forget the refusals of a row that was accepted."""
        self._waiting.pop(identity, None)

    def rests(self, identity: Hashable, now_s: float) -> bool:
        """Return whether the row is paused now."""
        return now_s < self._waiting.get(identity, (0, float("-inf")))[1]

    def forget_old(self, now_s: float) -> None:
        """Drop entries that were not refused again: their rows have changed or were deleted."""
        self._waiting = {key: entry for key, entry in self._waiting.items() if now_s < entry[1] + _FORGET_AFTER_S}
