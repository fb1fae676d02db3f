"""Floors: where claims begin while the head of the claim index is full of dead entries that nobody may remove."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from classifeed_jobs.pacing import Pace

_LEVELS_MAX: Final = 16
_LOWEST: Final = -(2**31)
_BEYOND: Final = 2**31
_EVER: Final = "-infinity"

Asked: TypeAlias = dict[str, Any]


class Floors:
    """What one process remembers of a queue's claim index: from where on each priority still has jobs.

    As long as a transaction is open somewhere, what has been claimed since it began stays in the index, and a claim
    from the head walks over all of it. When that takes long, claims begin behind what this process took last, at each
    priority on its own; priorities that it does not know are looked at whole. What such a claim cannot see are jobs
    that came to lie behind a floor: those that went back to the queue and those of transactions that committed late.
    For them there is a whole look again and again, for a twentieth of the time, and none of this when whole looks are
    short.
    """

    def __init__(self) -> None:
        self._since: dict[int, str] = {}
        self._pace = Pace()

    @property
    def is_whole_due(self) -> bool:
        """Whether the next look is to see all of the index."""
        return not self._since or self._pace.is_due

    @property
    def whole_in_s(self) -> float:
        """When jobs behind a floor are looked for again, in seconds."""
        return self._pace.due_in_s if self._since else 0.0

    def asked(self) -> Asked:
        """The parameters of the next look: what to walk over, in order; none: the plain way from the head will do."""
        if not self._pace.is_long:
            return {}
        is_whole = self.is_whole_due
        levels = [] if is_whole else sorted(self._since.items())
        lows = [_LOWEST, *(priority for priority, _ in levels)]
        return {
            "is_whole": is_whole,
            "lows": _literal(map(str, lows)),
            "sinces": _literal((_EVER, *(since for _, since in levels))),
            "belows": _literal(map(str, (*lows[1:], _BEYOND))),
        }

    def looked(
        self, asked: Asked, walked_s: float, priorities: Sequence[int] | None, sinces: Sequence[str] | None
    ) -> None:
        """Take note of a look.

        Args:
            asked: its parameters.
            walked_s: how long it walked over entries that are no jobs.
            priorities: those that it met, where it was asked for them.
            sinces: for each of them the creation from which on there may be jobs.
        """
        if asked.get("is_whole", True):
            self._pace.took(walked_s)
        if not self._pace.is_long:
            self._since.clear()
            return
        for priority, since in zip(priorities or (), sinces or (), strict=True):
            self._since.pop(priority, None)
            self._since[priority] = since
        while len(self._since) > _LEVELS_MAX:
            del self._since[next(iter(self._since))]


def _literal(items: Iterable[str]) -> str:
    """An array in the server's own notation: the driver dumps a list by a Python call for each item."""
    return '{"' + '","'.join(items) + '"}'
