"""Slots of a process for the jobs of one queue: free ones, and those that partition keys hold (ADR 0035)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from classifeed_jobs.claim.claim import Claim


class HeldSlots:
    """Counts the slots that each partition key holds; the key None is for jobs without a partition key."""

    def __init__(self) -> None:
        self.by_key: dict[str | None, int] = {}

    def take(self, key: str | None) -> None:
        """Add a slot of a key."""
        self.by_key[key] = self.by_key.get(key, 0) + 1

    def release(self, key: str | None) -> None:
        """Remove a slot of a key; keys without slots are deleted."""
        if left := self.by_key[key] - 1:
            self.by_key[key] = left
        else:
            del self.by_key[key]


class FreeSlots(NamedTuple):
    """The slots of one process for one queue.

    Attributes:
        free: Number of free slots.
        held: Number of held slots by partition key; the key None is for jobs without a partition key.
    """

    free: int
    held: Mapping[str | None, int]

    def parameters(self, claims: Sequence[Claim]) -> dict[str, Any]:
        """Return the parameters of the fair claim, with the slots of `claims` counted as held."""
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
"""Parameters of the fair claim if keys may hold any number of slots."""
