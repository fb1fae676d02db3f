"""TopicGrowth: adds partitions to a topic without losing a record or the order of a key (ADR 0060)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition
from classifeed_common.kafka.positions import GroupPartition, Position
from classifeed_common.kafka.table_positions import TablePositions
from classifeed_common.kafka.topics.cluster import Cluster, TopicState
from classifeed_common.kafka.topics.topics import Topic

_log = structlog.get_logger(__name__)

_QUIET_S: Final = 10.0
# Longer than our producers keep the metadata of a topic (topic.metadata.refresh.interval.ms).
_SETTLE_S: Final = 45.0
_SHOWN: Final = 5
_START_PRODUCERS_LATER: Final = "start no producer before this command has said that it is done"

Ends = dict[tuple[str, int], int]


class TopicGrowth:
    """Grows topics that have no senders and are read to their end by every group. Safe to repeat after any crash.

    Args:
        cluster: client of the brokers.
        database: database of the service that reads the topics, with the positions of its groups.
        quiet_s: seconds without a record that are required before a change.
        settle_s: seconds without a record that are required after it: running producers learn the new number meanwhile.
    """

    def __init__(
        self, cluster: Cluster, database: Database, *, quiet_s: float = _QUIET_S, settle_s: float = _SETTLE_S
    ) -> None:
        self._cluster = cluster
        self._database = database
        self._positions = TablePositions(database)
        self._quiet_s = quiet_s
        self._settle_s = settle_s

    async def grow(self, topic: Topic, groups: frozenset[str] = frozenset()) -> str:
        """Add the declared partitions to a topic, and return a description of the change.

        Args:
            topic: declaration.
            groups: groups of this service that read it, including groups that have not begun yet.

        Raises:
            FailedPrecondition: the topic is missing, has more partitions than declared, has senders, or is not read to
                its end; the message names the groups and their lag. Or records came during the change.
            Unavailable: the brokers did not respond; repeat the command.
        """
        state = await self._state(topic)
        stored = await self._positions.groups_of(topic.name)
        if state.partitions == topic.partitions and all(len(each) == state.partitions for each in stored.values()):
            return f"topic {topic.name} has its {topic.partitions} partitions already; nothing was changed"
        await self._check_outbox(topic.name)
        before = await self._ends(topic.name, state.partitions)
        await self._check_read(topic.name, state, groups, before)
        await asyncio.sleep(self._quiet_s)
        await self._check_unmoved(before, f"topic {topic.name} is still written to", "nothing was changed")
        # All groups are still at the end: the ends have not moved since the check, so this holds until a sender starts.
        await self._cluster.grow(topic.name, topic.partitions)
        _log.info("topic.grown", topic=topic.name, partitions=topic.partitions, before=state.partitions)
        await asyncio.sleep(self._settle_s)
        new = await self._ends(topic.name, topic.partitions)
        after: Ends = {**dict.fromkeys(new, 0), **before}
        await self._check_unmoved(
            after, f"records came to topic {topic.name} while it was given partitions", _START_PRODUCERS_LATER
        )
        await self._begin(topic.name, state, stored, new)
        return f"topic {topic.name} has {topic.partitions} partitions now, before it had {state.partitions}"

    async def _state(self, topic: Topic) -> TopicState:
        states = await self._cluster.topics([topic.name])
        if topic.name not in states:
            raise FailedPrecondition(
                "TOPIC_MISSING", f"topic {topic.name} does not exist: run the migrate step, which creates it"
            )
        state = states[topic.name]
        if state.partitions > topic.partitions:
            raise FailedPrecondition(
                "TOPIC_DIFFERS",
                f"topic {topic.name} has {state.partitions} partitions, declared are {topic.partitions}: Kafka takes "
                f"none away. Declare {state.partitions}, or give the topic a new name",
            )
        return state

    async def _check_outbox(self, topic: str) -> None:
        async with self._database.connection() as connection:
            row = await (await connection.execute("SELECT to_regclass('outbox') IS NOT NULL")).fetchone()
            if row == (True,):
                cursor = await connection.execute("SELECT count(*) FROM outbox WHERE topic = %s", (topic,))
                row = await cursor.fetchone()
                if row and row[0]:
                    raise FailedPrecondition(
                        "TOPIC_BUSY",
                        f"{row[0]} messages to topic {topic} wait in the outbox of {self._database.schema}; leave its "
                        "role relay running until they are sent. Nothing was changed",
                    )

    async def _check_read(self, topic: str, state: TopicState, groups: frozenset[str], ends: Ends) -> None:
        """Check that every group is at the end: by its stored position, or otherwise by its commit in Kafka."""
        stored = await self._positions.groups_of(topic)
        nexts = {group: {part: at.next for part, at in each.items()} for group, each in stored.items()}
        other_topic = [
            group for group, each in stored.items() if {at.topic_id for at in each.values()} != {state.topic_id}
        ]
        if other_topic:
            raise FailedPrecondition(
                "GROUP_BEHIND",
                f"group {other_topic[0]} has positions of another topic with the name {topic}, which was deleted and "
                "created again: start its consumer, whose error names the fix. Nothing was changed",
            )
        for group, offsets in (await self._cluster.commits(topic, state.partitions)).items():
            nexts.setdefault(group, offsets)
        for group in groups:
            nexts.setdefault(group, {})
        starts = await self._cluster.starts(ends)
        behind = []
        for group, offsets in sorted(nexts.items()):
            lags = {part: end - offsets.get(part[1], starts[part]) for part, end in ends.items()}
            lags = {part: lag for part, lag in lags.items() if lag > 0}
            if lags:
                shown = ", ".join(f"{lag} in partition {at}" for (_, at), lag in sorted(lags.items())[:_SHOWN])
                behind.append(f"group {group} is {sum(lags.values())} records behind ({shown})")
        if behind:
            raise FailedPrecondition(
                "GROUP_BEHIND",
                f"topic {topic} is not read to its end: {'; '.join(behind)}. Leave its consumers running until "
                "they are there. Nothing was changed. If no consumer of that group is left, remove it from Kafka "
                f"(kafka-consumer-groups.sh --delete --group …) and from {self._positions.place}",
            )

    async def _ends(self, topic: str, partitions: int) -> Ends:
        return await self._cluster.ends([(topic, at) for at in range(partitions)])

    async def _check_unmoved(self, ends: Mapping[tuple[str, int], int], what: str, then: str) -> None:
        now = await self._cluster.ends(ends)
        moved = {part[1]: now[part] - end for part, end in ends.items() if now[part] != end}
        if moved:
            shown = ", ".join(f"{count} in partition {at}" for at, count in sorted(moved.items())[:_SHOWN])
            raise FailedPrecondition(
                "TOPIC_BUSY",
                f"{what}: {sum(moved.values())} records came within seconds ({shown}). Stop its producers, wait until "
                f"its consumers have read to the end, and repeat this; {then}",
            )

    async def _begin(
        self, topic: str, state: TopicState, stored: Mapping[str, Mapping[int, Position]], ends: Ends
    ) -> None:
        begins = {
            GroupPartition(group, topic, at): Position(state.topic_id, 0)
            for group, known in stored.items()
            for _, at in ends
            if at not in known
        }
        if begins:
            await self._positions.begin(begins)
