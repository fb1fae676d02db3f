"""Catch-up of a stored index to the ends that its topic had when the index was opened (ADR 0039)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from classifeed_common.kafka import Position
from classifeed_searcher.store.generation import IndexGeneration

_POLL_S: Final = 0.05


class CatchUp:
    """Progress of a generation towards some ends of its topic.

    Attributes:
        generation: generation that was opened from disk and follows the topic, but is not searched yet.
        stands_still: whether there was no progress for so long that the generation is searched as it is.
    """

    def __init__(self, generation: IndexGeneration, ends: Mapping[tuple[str, int], Position]) -> None:
        self.generation = generation
        self.stands_still = False
        self._ends = ends

    @property
    def behind(self) -> int:
        """The number of records before the ends that are not applied yet."""
        return self.generation.behind(self._ends)

    async def wait(self, standstill_s: float) -> None:
        """Return once the ends are reached, or after `standstill_s` seconds without progress. May be cancelled."""
        left, since_s = self.behind, time.monotonic()
        while left:
            await asyncio.sleep(_POLL_S)
            now_left, now_s = self.behind, time.monotonic()
            if now_left != left:
                left, since_s = now_left, now_s
            elif now_s - since_s >= standstill_s:
                self.stands_still = True
                return

    def describe(self, client: str) -> str:
        """Return the state in a line."""
        text = f"the index of {client} lacks {self.behind} records of what changed while this searcher was stopped"
        if self.stands_still:
            return f"{text}; as it does not advance, it is searched without them. Check the brokers and the disk"
        return text
