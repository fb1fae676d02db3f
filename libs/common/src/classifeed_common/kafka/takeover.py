"""Taking over partitions: where to read from, after checking that the log is still the one our positions count in."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from classifeed_common.errors import Unavailable
from classifeed_common.kafka.cluster import Cluster, TopicState
from classifeed_common.kafka.positions import GroupPartition, OffsetOutsideLog, Position, Positions, TopicRecreated
from classifeed_common.kafka.records import KAFKA_UNAVAILABLE


class Takeover:
    """Loads and checks the positions of a group. Safe to repeat: it writes a new group's first positions."""

    def __init__(self, cluster: Cluster, group: str, positions: Positions[object]) -> None:
        self._cluster = cluster
        self._group = group
        self._positions = positions

    async def positions_of(self, partitions: Collection[tuple[str, int]]) -> dict[GroupPartition, Position]:
        """Return where to read each of `partitions` from; those never begun begin at the start of the log, in writing.

        Raises:
            TopicRecreated: stored positions belong to another topic of the same name.
            OffsetOutsideLog: a stored position lies outside its log.
            Unavailable: brokers or topics are not there now; try again.
        """
        if not partitions:
            return {}
        states = await self.states({topic for topic, _ in partitions})
        # All partitions of the topics, not ours alone: one old row is enough to know that the topic was made again.
        known = await self._positions.load(
            [
                GroupPartition(self._group, topic, at)
                for topic, state in states.items()
                for at in range(state.partitions)
            ]
        )
        self.check_topics(known, states)
        ours = sorted(GroupPartition(self._group, *partition) for partition in partitions)
        starts = await self._cluster.starts(partitions)
        fresh = {
            part: Position(states[part.topic].topic_id, starts[part.topic, part.partition])
            for part in ours
            if part not in known
        }
        if fresh:
            await self._positions.begin(fresh)
            known |= await self._positions.load(list(fresh))
        ends = await self._cluster.ends(partitions)
        for part in ours:
            self._check_inside(part, known[part].next, starts[part[1:]], ends[part[1:]])
        return {part: known[part] for part in ours}

    async def states(self, topics: Collection[str]) -> dict[str, TopicState]:
        """Return the state of `topics`, all of which must exist.

        Raises:
            Unavailable: the brokers did not answer, or one of the topics does not exist (yet).
        """
        states = await self._cluster.topics(topics)
        missing = sorted(set(topics) - set(states))
        if missing:
            raise Unavailable(
                KAFKA_UNAVAILABLE, f"topics {', '.join(missing)} do not exist; the migrate step creates them"
            )
        return states

    def check_topics(self, positions: Mapping[GroupPartition, Position], states: Mapping[str, TopicState]) -> None:
        """Compare the topic ids of `positions` with those of the brokers.

        Raises:
            TopicRecreated: one of them differs.
        """
        for part, position in positions.items():
            state = states[part.topic]
            if position.topic_id != state.topic_id:
                raise TopicRecreated(
                    f"topic {part.topic} was deleted and made again: group {part.group} stands at offset "
                    f"{position.next} of partition {part.partition} of topic id {position.topic_id}, the brokers now "
                    f"have topic id {state.topic_id}. What the old topic still held is gone: have it sent again where "
                    f"that matters, then remove the positions of this group and topic from {self._positions.place}; "
                    "the group begins at the start of the new topic"
                )

    def outside(self, part: GroupPartition, at: int, start: int, end: int) -> OffsetOutsideLog:
        """Return the fault, in words, of a position outside its log."""
        if at < start:
            cause = f"{start - at} records were removed unread (retention, or a deletion by hand)"
            remedy, to = "have their senders repeat them (a re-push or a repair run)", start
        else:
            cause = "the log lost its tail, or the database is newer than Kafka (a restore)"
            remedy, to = "records that were handled once may come again", end
        return OffsetOutsideLog(
            f"group {part.group} would read {part.topic}[{part.partition}] from offset {at}, but its log goes from "
            f"{start} to {end}: {cause}. Nothing is skipped by itself: {remedy}, then set next to {to} for this group, "
            f"topic and partition in {self._positions.place} and start again"
        )

    def _check_inside(self, part: GroupPartition, at: int, start: int, end: int) -> None:
        if not start <= at <= end:
            raise self.outside(part, at, start, end)
