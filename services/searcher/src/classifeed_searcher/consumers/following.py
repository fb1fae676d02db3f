"""Run of an OrderedConsumer that applies the topic to one generation."""

from __future__ import annotations

import asyncio

from classifeed_common.kafka import OffsetOutsideLog, OrderedConsumer, TopicRecreated
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite


class Following:
    """Runs a consumer for a generation in the background until it is stopped or fails."""

    def __init__(self, generation: IndexGeneration, consumer: OrderedConsumer[IndexWrite]) -> None:
        self.generation = generation
        self.consumer = consumer
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(consumer.run(self._stop))

    async def ended(self) -> str:
        """Wait for the end of the consumer; return the records that the topic has lost, as a text; empty: stopped.

        May be cancelled; the consumer continues.
        """
        try:
            await asyncio.shield(self._task)
        except (OffsetOutsideLog, TopicRecreated) as lost:
            return str(lost)
        return ""

    async def stop(self) -> str:
        """Stop the consumer; return as `ended`."""
        self._stop.set()
        return await self.ended()
