"""Positions beside the index: an effect is a commit of the index and then of the state file.

A crash between the two replays the last records onto the index. That changes nothing at rest: each is put by key, in
the same order, and ends in the same newest version.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager

from classifeed_common.kafka import GroupPartition, Position, ZombieConsumer
from classifeed_searcher.store.catalogue import IndexCatalogue, IndexWrite


class IndexPositions:
    """Positions of the sink, for OrderedConsumer."""

    def __init__(self, catalogue: IndexCatalogue) -> None:
        self._catalogue = catalogue

    @property
    def place(self) -> str:
        """Where an operator finds the positions."""
        return f"file {self._catalogue.state_path}"

    async def load(self, parts: Collection[GroupPartition]) -> dict[GroupPartition, Position]:
        """Returns the positions known for `parts`."""
        known = self._catalogue.state.positions
        return {part: known[part.topic, part.partition] for part in parts if (part.topic, part.partition) in known}

    async def begin(self, starts: Mapping[GroupPartition, Position]) -> None:
        """Writes first positions; one that is there stays."""
        fresh = {(part.topic, part.partition): position for part, position in starts.items()}
        await asyncio.to_thread(self._catalogue.begin, fresh)

    @asynccontextmanager
    async def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AsyncIterator[IndexWrite]:
        """Opens one effect on the index.

        Raises:
            ZombieConsumer: a position differs from the expected one.
        """
        known = self._catalogue.state.positions
        for part, position in expected.items():
            if known.get((part.topic, part.partition)) != position:
                raise ZombieConsumer(f"{part.topic}[{part.partition}] is not at {position.next} any more")
        write = self._catalogue.open_write()
        try:
            yield write
        except BaseException:
            await asyncio.to_thread(self._catalogue.roll_back, write)
            raise
        moved = {(part.topic, part.partition): position for part, position in new.items()}
        await asyncio.to_thread(self._catalogue.commit, write, moved)
