"""A generation that follows its topic: one run of OrderedConsumer."""

from __future__ import annotations

import asyncio

from classifeed_common.kafka import OffsetOutsideLog, OrderedConsumer, TopicRecreated
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite


class Following:
    """Runs a consumer over a generation in the background until it is stopped, or fails."""

    def __init__(self, generation: IndexGeneration, consumer: OrderedConsumer[IndexWrite]) -> None:
        self.generation = generation
        self.consumer = consumer
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(consumer.run(self._stop))

    async def ended(self) -> str:
        """Return, once the consumer has ended, what the log has lost of what it had to read; empty: it was stopped.

        May be cancelled; the consumer goes on.
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
