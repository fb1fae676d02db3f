"""Back-off policies: seconds before the next attempt of a job."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final, Protocol

FAULT_PAUSE_S: Final = 1.0
"""Longest pause of the engine's loops after a fault, in seconds."""


class Backoff(Protocol):
    """A back-off policy, shared by all jobs of a task."""

    def delay_s(self, attempt: int) -> float:
        """Return the seconds to wait after a failed attempt; the first attempt is 1."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant delay."""

    step_s: float = 30.0

    def delay_s(self, attempt: int) -> float:
        """Return the seconds to wait after a failed attempt."""
        del attempt
        return self.step_s


@dataclass(frozen=True, slots=True)
class Linear:
    """A delay of `step_s` times the attempt, at most `cap_s`; the default of tasks."""

    step_s: float = 30.0
    cap_s: float = 3600.0

    def delay_s(self, attempt: int) -> float:
        """Return the seconds to wait after a failed attempt."""
        return min(self.cap_s, self.step_s * attempt)


@dataclass(frozen=True, slots=True)
class Exponential:
    """A delay that doubles with each attempt up to `cap_s`, multiplied by a random factor between 0.5 and 1.

    The jitter spreads the retries of jobs that failed together
    (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/, "equal jitter").
    """

    first_s: float = 1.0
    cap_s: float = 600.0

    def delay_s(self, attempt: int) -> float:
        """Return the seconds to wait after a failed attempt."""
        doubled: float = self.first_s * 2.0 ** min(attempt - 1, 60)
        whole_s = min(self.cap_s, doubled)
        return whole_s * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
