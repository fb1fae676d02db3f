"""Slots: what a process has left for the jobs of one queue, and which partition keys hold the others (ADR 0035)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from classifeed_jobs.claim.claim import Claim


class HeldSlots:
    """Counts the slots that each partition key holds; None stands for jobs without one."""

    def __init__(self) -> None:
        self.by_key: dict[str | None, int] = {}

    def take(self, key: str | None) -> None:
        """Count one more."""
        self.by_key[key] = self.by_key.get(key, 0) + 1

    def release(self, key: str | None) -> None:
        """Count one less; keys that hold none are forgotten."""
        if left := self.by_key[key] - 1:
            self.by_key[key] = left
        else:
            del self.by_key[key]


class FreeSlots(NamedTuple):
    """The slots of one process for one queue.

    Attributes:
        free: how many more jobs may run.
        held: how many jobs run, by partition key; None stands for those without one.
    """

    free: int
    held: Mapping[str | None, int]

    def parameters(self, claims: Sequence[Claim]) -> dict[str, Any]:
        """Return what the fair claim is given, after `claims` have taken slots too."""
        held = Counter(self.held)
        held.update(claim.partition_key for claim in claims)
        keys = [key for key in held if key is not None]
        return {
            "free": max(0, self.free - len(claims)),
            "held_keys": keys,
            "held": [held[key] for key in keys],
            "unpartitioned_held": held[None],
        }


UNLIMITED: Final[Mapping[str, Any]] = {"free": None, "held_keys": [], "held": [], "unpartitioned_held": 0}
"""What the fair claim is given where keys may hold any number of slots."""
