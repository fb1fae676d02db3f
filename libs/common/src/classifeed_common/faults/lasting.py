"""LastingFault: the reason why some work keeps failing, and since when, for `Role.blocked`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from classifeed_common.clock import Clock, SystemClock
from classifeed_common.errors import describe_fault, times

_NAMED_AFTER_S: Final = 5.0  # a shorter fault is over before anybody reads of it


class LastingFault:
    """Remembers why attempts at some work fail, in memory, from the first failure until a success (`clear`).

    Args:
        clock: clock of the failures; None: the system's.
        forget_after_s: seconds after which a failure without another one is forgotten, for work that may disappear
            without a success, such as a row that is deleted; None: it is remembered until `clear`.

    Attributes:
        attempts: number of failed attempts.
    """

    def __init__(self, clock: Clock | None = None, *, forget_after_s: float | None = None) -> None:
        self._clock = clock or SystemClock()
        self._forget_after_s = forget_after_s
        self.attempts = 0
        self._first_s = 0.0
        self._last_s = 0.0
        self._error = ""
        self._awaited: tuple[str, float] | None = None

    def note(self, error: BaseException) -> None:
        """Record a failed attempt."""
        now_s = self._clock.monotonic_s()
        if self._is_forgotten(now_s):
            self.clear()
        if not self.attempts:
            self._first_s = now_s
        self._last_s = now_s
        self.attempts += 1
        self._error = describe_fault(error)

    def clear(self) -> None:
        """Record that an attempt succeeded, or that another process has taken over the work."""
        self.attempts = 0

    @contextmanager
    def waiting_for(self, what: str) -> Iterator[None]:
        """Treat the time inside as a fault: for a wait without a limit that neither fails nor succeeds.

        Args:
            what: awaited event, worded to follow "for", such as "Kafka to acknowledge 3 messages".
        """
        self._awaited = (what, self._clock.monotonic_s())
        try:
            yield
        finally:
            self._awaited = None

    def lasted_s(self) -> float:
        """Return the seconds since the first failed attempt."""
        return self._clock.monotonic_s() - self._first_s

    def blocked(self, name: str, work: str, effect: str) -> dict[str, str]:
        """Return for `Role.blocked` why the work fails, and for how long; empty if the fault is short.

        Args:
            name: name of the blocked item.
            work: failing activity, as the subject of a sentence, such as "sending".
            effect: consequence, a sentence without its full stop.
        """
        now_s = self._clock.monotonic_s()
        if self.attempts and now_s - self._first_s >= _NAMED_AFTER_S and not self._is_forgotten(now_s):
            how_often = times(self.attempts)
            fault = f"{work} has failed for {self.lasted_s():.0f} s, {how_often}: {self._error.rstrip('.')}"
        elif self._awaited is not None and now_s - self._awaited[1] >= _NAMED_AFTER_S:
            fault = f"{work} has waited {now_s - self._awaited[1]:.0f} s for {self._awaited[0]}"
        else:
            return {}
        return {name: f"{fault}. {effect}; it continues once the cause is fixed."}

    def _is_forgotten(self, now_s: float) -> bool:
        return self._forget_after_s is not None and now_s - self._last_s > self._forget_after_s
