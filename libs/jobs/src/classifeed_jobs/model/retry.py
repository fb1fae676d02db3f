"""How long a job waits before its next attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Protocol


class Backoff(Protocol):
    """A policy; the same for every job of a task."""

    def delay_s(self, attempt: int) -> float:
        """Seconds to wait after the given attempt (the first is 1) has failed."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always the same."""

    step_s: float = 30.0

    def delay_s(self, attempt: int) -> float:
        """Seconds to wait after the given attempt has failed."""
        del attempt
        return self.step_s


@dataclass(frozen=True, slots=True)
class Linear:
    """`step_s` times the attempt, at most `cap_s`; the default of a task."""

    step_s: float = 30.0
    cap_s: float = 3600.0

    def delay_s(self, attempt: int) -> float:
        """Seconds to wait after the given attempt has failed."""
        return min(self.cap_s, self.step_s * attempt)


@dataclass(frozen=True, slots=True)
class Exponential:
    """Doubles each time up to `cap_s`, then takes a random share between the half and the whole of it.

    The spread keeps jobs that failed together from coming back together
    (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/, "equal jitter").
    """

    first_s: float = 1.0
    cap_s: float = 600.0

    def delay_s(self, attempt: int) -> float:
        """Seconds to wait after the given attempt has failed."""
        doubled: float = self.first_s * 2.0 ** min(attempt - 1, 60)
        whole_s = min(self.cap_s, doubled)
        return whole_s * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
