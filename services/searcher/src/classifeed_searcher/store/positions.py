"""Positions of an index in its topic: an effect commits the index, then writes the positions to the state file.

After a crash between the two, the last records are applied again. The result is the same, because each record is
applied by key and in the same order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Final

from classifeed_common.kafka import GroupPartition, Position, ZombieConsumer
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite

_POLL_S: Final = 0.05


class IndexPositions:
    """Positions of a generation's sink, for OrderedConsumer."""

    def __init__(self, generation: IndexGeneration) -> None:
        self._generation = generation

    @property
    def place(self) -> str:
        """The place of the positions, for operators."""
        return f"file {self._generation.state_path}"

    async def load(self, parts: Collection[GroupPartition]) -> dict[GroupPartition, Position]:
        """Return the known positions of `parts`."""
        known = self._generation.state.positions
        return {part: known[part.topic, part.partition] for part in parts if (part.topic, part.partition) in known}

    async def begin(self, starts: Mapping[GroupPartition, Position]) -> None:
        """Store first positions; existing positions are kept."""
        fresh = {(part.topic, part.partition): position for part, position in starts.items()}
        await asyncio.to_thread(self._generation.begin, fresh)

    @asynccontextmanager
    async def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AsyncIterator[IndexWrite]:
        """Open one effect on the index.

        Raises:
            ZombieConsumer: a position differs from the expected one.
        """
        known = self._generation.state.positions
        for part, position in expected.items():
            if known.get((part.topic, part.partition)) != position:
                raise ZombieConsumer(f"{part.topic}[{part.partition}] is not at {position.next} any more")
        write = self._generation.open_write()
        try:
            yield write
        except BaseException:
            await asyncio.to_thread(self._generation.roll_back, write)
            raise
        moved = {(part.topic, part.partition): position for part, position in new.items()}
        await asyncio.to_thread(self._generation.commit, write, moved)


async def reach(generation: IndexGeneration, ends: Mapping[tuple[str, int], Position]) -> None:
    """Return once a generation has applied all records before some ends. May be cancelled."""
    while True:
        if generation.has_reached(ends):
            return
        await asyncio.sleep(_POLL_S)
