"""The topic of a client's index documents: its ends, and whether it still has the records after some positions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from classifeed_common.errors import Unavailable
from classifeed_common.kafka import Cluster, Position
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_domain.topics import index_documents

Positions = Mapping[tuple[str, int], Position]

_CHECK_S: Final = 5.0

_log = structlog.get_logger(__name__)


class PositionsLost(Exception):
    """The topic no longer has the next records; the text has the partition."""


class TopicLog:
    """Reads metadata of one topic from the brokers."""

    def __init__(self, cluster: Cluster, client: str) -> None:
        self.name = index_documents(client)
        self._cluster = cluster

    async def ends(self) -> dict[tuple[str, int], Position]:
        """Return the end of each partition.

        Raises:
            Unavailable: the brokers did not respond, or the topic does not exist yet.
        """
        states = await self._cluster.topics([self.name])
        if self.name not in states:
            raise Unavailable("KAFKA_UNAVAILABLE", f"topic {self.name} does not exist; the migrate step creates it")
        state = states[self.name]
        ends = await self._cluster.ends([(self.name, at) for at in range(state.partitions)])
        return {part: Position(state.topic_id, end) for part, end in ends.items()}

    async def ends_for(self, positions: Positions) -> Positions:
        """Return the end of each partition, if it can be read from some positions; empty: the brokers did not respond.

        Raises:
            PositionsLost: the topic cannot be read from the positions.
        """
        try:
            async with asyncio.timeout(_CHECK_S):
                ends = await self.ends()
                starts = await self._cluster.starts(list(ends))
        except (Unavailable, TimeoutError) as error:
            log_fault(_log, "searcher.topic.unknown", error, topic=self.name)
            return {}
        for (topic, partition), end in ends.items():
            position = positions.get((topic, partition))
            if position is None:
                raise PositionsLost(f"there is no position in {topic}[{partition}]")
            if position.topic_id != end.topic_id:
                raise PositionsLost(f"topic {topic} was deleted and created again")
            start = starts[topic, partition]
            if not start <= position.next <= end.next:
                raise PositionsLost(
                    f"{topic}[{partition}] goes from {start} to {end.next}, the index is at {position.next}"
                )
        return ends
