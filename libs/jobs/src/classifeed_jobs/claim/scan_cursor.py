"""Floors: where claims begin while the head of the claim index is full of dead entries that nobody may remove."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from classifeed_jobs.claim.literals import array
from classifeed_jobs.pacing import Pace

_LEVELS_MAX: Final = 16
_BACK_MAX: Final = 500
_USUAL: Final = 100
_LOWEST: Final = -(2**31)
_BEYOND: Final = 2**31
_EVER: Final = "-infinity"
_INSTANT: Final = timedelta(microseconds=1)

Asked: TypeAlias = dict[str, Any]
_Range: TypeAlias = tuple[int, str, int, str]


class Floors:
    """What one process remembers of a queue's claim index: from where on each priority still has jobs.

    As long as a transaction is open somewhere, what has been claimed since it began stays in the index, and a claim
    from the head walks over all of it. When that takes long, claims begin behind what this process took last, at each
    priority on its own; the ranges between known priorities are looked at whole. Jobs that this process itself lets in
    behind a floor are looked for where they lie. What such a claim cannot see came there otherwise: by another
    process, or in a transaction that committed late. For them there is a whole look again and again, for a twentieth of
    the time, and none of this when whole looks are short.
    """

    def __init__(self) -> None:
        self._since: dict[int, datetime] = {}
        self._back: dict[tuple[int, datetime], None] = {}
        self._asked_back: list[tuple[int, datetime]] = []
        self._pace = Pace()

    @property
    def is_whole_due(self) -> bool:
        """Whether the next look is to see all of the index."""
        return not self._since or self._pace.is_due

    @property
    def whole_in_s(self) -> float:
        """When jobs behind a floor are looked for again, in seconds."""
        return self._pace.due_in_s if self._since else 0.0

    def promoted(self, priority: int, created_at: datetime) -> None:
        """A job of this place was let in, maybe behind a floor; of very many the first ones wait for a whole look."""
        if self._since:
            self._back[priority, created_at] = None
        if len(self._back) > _BACK_MAX:
            del self._back[next(iter(self._back))]

    def asked(self) -> Asked:
        """The parameters of the next look: what to walk over, in order; none: the plain way from the head will do."""
        self._asked_back = list(self._back)
        if not self._pace.is_long:
            return {}
        is_whole = self.is_whole_due
        lows, sinces, belows, untils = zip(*self._ranges(is_whole=is_whole), strict=True)
        return {
            "is_whole": is_whole,
            "lows": array(map(str, lows)),
            "sinces": array(sinces),
            "belows": array(map(str, belows)),
            "untils": array(untils),
        }

    def looked(
        self,
        asked: Asked,
        walked_s: float,
        priorities: Sequence[int] | None,
        sinces: Sequence[datetime] | None,
        late: datetime | None,
        *,
        found: int,
        is_filled: bool,
    ) -> None:
        """Take note of a look that walked over the index.

        Args:
            asked: its parameters.
            walked_s: how long it walked over entries that are no jobs.
            priorities: those that it met, where it was asked for them.
            sinces: for each of them the creation from which on there may be jobs.
            late: the same for priorities of which it met nothing, if it saw all of its ranges.
            found: how many jobs it met.
            is_filled: it met as many as it looked for, and did not see all of its ranges.
        """
        if asked.get("is_whole", True):
            self._pace.took(walked_s)
        if not self._pace.is_long:
            self._since.clear()
            self._back.clear()
            return
        if late is not None and not is_filled:
            self._since.update(dict.fromkeys((*self._since, _USUAL), late))
        for priority, since in zip(priorities or (), sinces or (), strict=True):
            self._since.pop(priority, None)
            self._since[priority] = since
        while len(self._since) > _LEVELS_MAX:
            del self._since[next(iter(self._since))]
        if not is_filled or found > len(self._asked_back):  # they come first at their priority
            for place in self._asked_back:
                self._back.pop(place, None)

    def _ranges(self, *, is_whole: bool) -> list[_Range]:
        """Ranges of (priority, creation), each from its beginning up to before its end, in order."""
        if is_whole:
            return [(_LOWEST, _EVER, _BEYOND, _EVER)]
        levels = sorted(self._since)
        ranges: list[_Range] = [(_LOWEST, _EVER, levels[0], _EVER)]
        for priority, below in zip(levels, [*levels[1:], _BEYOND], strict=True):
            since = self._since[priority]
            back = sorted(at for one, at in self._back if one == priority and at < since)
            ranges += [(priority, at.isoformat(), priority, (at + _INSTANT).isoformat()) for at in back]
            ranges.append((priority, since.isoformat(), below, _EVER))
        return ranges
