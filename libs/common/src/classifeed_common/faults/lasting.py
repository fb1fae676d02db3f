"""LastingFault: what makes the same work fail again and again, and since when, for `Role.blocked`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from classifeed_common.clock import Clock, SystemClock
from classifeed_common.errors import describe_fault, times

_NAMED_AFTER_S: Final = 5.0  # shorter ones are over before anybody has read of them


class LastingFault:
    """Keeps why attempts at some work fail, in memory, from the first failure until one succeeds (`clear`).

    Args:
        clock: of the process; None: the machine's.
        forget_after_s: how long a failure counts without another one, where the work may go without an attempt that
            succeeds, such as a row that is deleted; None: until `clear`.

    Attributes:
        attempts: how many have failed.
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
        """Note a failed attempt."""
        now_s = self._clock.monotonic_s()
        if self._is_forgotten(now_s):
            self.clear()
        if not self.attempts:
            self._first_s = now_s
        self._last_s = now_s
        self.attempts += 1
        self._error = describe_fault(error)

    def clear(self) -> None:
        """Note that an attempt succeeded, or that the work is another process's now."""
        self.attempts = 0

    @contextmanager
    def waiting_for(self, what: str) -> Iterator[None]:
        """Count the time inside as a fault: for what may take as long as it likes, and neither fails nor succeeds.

        Args:
            what: that is waited for, as it follows "for", such as "Kafka to acknowledge 3 messages".
        """
        self._awaited = (what, self._clock.monotonic_s())
        try:
            yield
        finally:
            self._awaited = None

    def lasted_s(self) -> float:
        """Return how long ago the first of the failed attempts was, in seconds."""
        return self._clock.monotonic_s() - self._first_s

    def blocked(self, name: str, work: str, effect: str) -> dict[str, str]:
        """Return for `Role.blocked` why the work fails, and for how long; empty unless that has lasted.

        Args:
            name: of what is blocked.
            work: what fails, as the subject of a sentence, such as "sending".
            effect: what follows from it, a sentence without its full stop.
        """
        now_s = self._clock.monotonic_s()
        if self.attempts and now_s - self._first_s >= _NAMED_AFTER_S and not self._is_forgotten(now_s):
            how_often = times(self.attempts)
            fault = f"{work} has failed for {self.lasted_s():.0f} s, {how_often}: {self._error.rstrip('.')}"
        elif self._awaited is not None and now_s - self._awaited[1] >= _NAMED_AFTER_S:
            fault = f"{work} has waited {now_s - self._awaited[1]:.0f} s for {self._awaited[0]}"
        else:
            return {}
        return {name: f"{fault}. {effect}; it continues by itself once the cause is fixed."}

    def _is_forgotten(self, now_s: float) -> bool:
        return self._forget_after_s is not None and now_s - self._last_s > self._forget_after_s
