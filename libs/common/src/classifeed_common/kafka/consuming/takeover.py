"""Takeover: finds where to read newly assigned partitions, and checks that their logs are those of our positions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from classifeed_common.errors import Unavailable
from classifeed_common.kafka.positions import (
    GroupPartition,
    Move,
    OffsetOutsideLog,
    Position,
    Positions,
    TopicGrown,
    TopicRecreated,
)
from classifeed_common.kafka.records import KAFKA_UNAVAILABLE
from classifeed_common.kafka.topics.cluster import Cluster, TopicState


class Takeover:
    """Loads and checks the positions of a group. Safe to repeat; it writes a new group's first positions."""

    def __init__(self, cluster: Cluster, group: str, positions: Positions[object]) -> None:
        self._cluster = cluster
        self._group = group
        self._positions = positions
        self._grown: set[tuple[str, int]] = set()

    async def positions_of(self, partitions: Collection[tuple[str, int]]) -> dict[GroupPartition, Position]:
        """Return where to read each of `partitions`; a new group begins at the start of the logs, which is stored.

        A group begins in all partitions of a topic at once. So a partition without a position, where others have one,
        was added later. It begins at its start if the records before its addition are handled: then its keys have none
        elsewhere.

        Raises:
            TopicGrown: partitions were added while this group had records to read.
            TopicRecreated: stored positions belong to another topic of the same name.
            OffsetOutsideLog: a stored position is outside its log.
            Unavailable: brokers or topics are not available now; retry.
        """
        if not partitions:
            return {}
        states = await self.states({topic for topic, _ in partitions})
        # All partitions of the topics, not only ours: one old row is enough to notice that the topic was created again.
        known = await self._positions.load(
            [
                GroupPartition(self._group, topic, at)
                for topic, state in states.items()
                for at in range(state.partitions)
            ]
        )
        await self._check_recreated(known, states)
        ours = sorted(GroupPartition(self._group, *partition) for partition in partitions)
        known |= await self._begin(known, states)
        starts = await self._cluster.starts(partitions)
        ends = await self._cluster.ends(partitions)
        self._check_inside({part: known[part] for part in ours}, starts, ends)
        return {part: known[part] for part in ours}

    async def _begin(
        self, known: Mapping[GroupPartition, Position], states: Mapping[str, TopicState]
    ) -> dict[GroupPartition, Position]:
        """Store first positions where there are none, and return them."""
        fresh = [
            part
            for topic, state in states.items()
            for part in (GroupPartition(self._group, topic, at) for at in range(state.partitions))
            if part not in known
        ]
        if not fresh:
            return {}
        await self._check_grown(fresh, known, states)
        starts = await self._cluster.starts([part[1:] for part in fresh])
        await self._positions.begin({part: Position(states[part.topic].topic_id, starts[part[1:]]) for part in fresh})
        return await self._positions.load(fresh)

    async def _check_grown(
        self,
        fresh: Collection[GroupPartition],
        known: Mapping[GroupPartition, Position],
        states: Mapping[str, TopicState],
    ) -> None:
        grown = {part.topic for part in fresh} & {part.topic for part in known}
        before = {part: at for part, at in known.items() if part.topic in grown}
        ends = await self._cluster.ends([part[1:] for part in before])
        moves = {
            part: Move(at, Position(at.topic_id, ends[part[1:]]), ends[part[1:]] - at.next)
            for part, at in before.items()
            if at.next < ends[part[1:]] and (part.topic, states[part.topic].partitions) not in self._grown
        }
        if not moves:
            return
        # Raised once: when the records are skipped, others may still come, and the new partitions must begin.
        self._grown |= {(topic, states[topic].partitions) for topic in grown}
        topic = next(iter(moves)).topic
        skipped = sum(move.skipped for part, move in moves.items() if part.topic == topic)
        raise TopicGrown(
            f"topic {topic} was given further partitions ({states[topic].partitions} now) while group {self._group} "
            f"had {skipped} records to read in those from before, or the positions were restored to before that: keys "
            "have moved between partitions, so that their records cannot be read in order any more. Nothing is skipped "
            "automatically: have the senders of those records repeat them, then set next to the ends of the logs for "
            f"this group and topic in {self._positions.place} and start again. The procedure that avoids this: "
            "migrate --grow",
            moves,
        )

    async def states(self, topics: Collection[str]) -> dict[str, TopicState]:
        """Return the state of `topics`, all of which must exist.

        Raises:
            Unavailable: the brokers did not respond, or a topic does not exist (yet).
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
            TopicRecreated: an id differs. It has no readable positions: load the positions again for that.
        """
        recreated = _recreated(positions, states)
        if recreated:
            raise self._topic_recreated(recreated, states, {})

    async def _check_recreated(
        self, positions: Mapping[GroupPartition, Position], states: Mapping[str, TopicState]
    ) -> None:
        recreated = _recreated(positions, states)
        if recreated:
            starts = await self._cluster.starts([part[1:] for part in recreated])
            moves = {
                part: Move(position, Position(states[part.topic].topic_id, starts[part[1:]]), 0)
                for part, position in recreated.items()
            }
            raise self._topic_recreated(recreated, states, moves)

    def _topic_recreated(
        self,
        recreated: Mapping[GroupPartition, Position],
        states: Mapping[str, TopicState],
        moves: Mapping[GroupPartition, Move],
    ) -> TopicRecreated:
        part, position = next(iter(recreated.items()))
        return TopicRecreated(
            f"topic {part.topic} was deleted and created again: group {part.group} is at offset "
            f"{position.next} of partition {part.partition} of topic id {position.topic_id}, the brokers now "
            f"have topic id {states[part.topic].topic_id}. What the old topic still had is lost: have it sent again "
            f"where that matters, then remove the positions of this group and topic from {self._positions.place}; "
            "the group begins at the start of the new topic",
            moves,
        )

    def _check_inside(
        self,
        positions: Mapping[GroupPartition, Position],
        starts: Mapping[tuple[str, int], int],
        ends: Mapping[tuple[str, int], int],
    ) -> None:
        moves: dict[GroupPartition, Move] = {}
        for part, position in positions.items():
            start, end = starts[part[1:]], ends[part[1:]]
            if not start <= position.next <= end:
                readable = Position(position.topic_id, start if position.next < start else end)
                moves[part] = Move(position, readable, max(0, start - position.next))
        if moves:
            part, move = next(iter(moves.items()))
            raise OffsetOutsideLog(self._outside_words(part, move, starts[part[1:]], ends[part[1:]]), moves)

    def _outside_words(self, part: GroupPartition, move: Move, start: int, end: int) -> str:
        if move.skipped:
            cause = f"{move.skipped} records were removed unread (retention, or a deletion by hand)"
            fix = "have their senders repeat them (a re-push or a repair run)"
        else:
            cause = "the log lost its end, or the database is newer than Kafka (a restore)"
            fix = "records that were handled once may come again"
        return (
            f"group {part.group} would read {part.topic}[{part.partition}] from offset {move.stored.next}, but its log "
            f"goes from {start} to {end}: {cause}. Nothing is skipped automatically: {fix}, then set next to "
            f"{move.readable.next} for this group, topic and partition in {self._positions.place} and start again"
        )


def _recreated(
    positions: Mapping[GroupPartition, Position], states: Mapping[str, TopicState]
) -> dict[GroupPartition, Position]:
    return {part: at for part, at in positions.items() if states[part.topic].topic_id != at.topic_id}
