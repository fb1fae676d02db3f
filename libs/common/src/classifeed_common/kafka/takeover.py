"""Taking over partitions: where to read from, after checking that the log is still the one our positions count in."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from classifeed_common.errors import Unavailable
from classifeed_common.kafka.cluster import Cluster, TopicState
from classifeed_common.kafka.positions import (
    GroupPartition,
    Move,
    OffsetOutsideLog,
    Position,
    Positions,
    TopicRecreated,
)
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
        await self._check_recreated(known, states)
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
        self._check_inside({part: known[part] for part in ours}, starts, ends)
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
            TopicRecreated: one of them differs. It does not say where to go on: load the positions again for that.
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
            f"topic {part.topic} was deleted and made again: group {part.group} stands at offset "
            f"{position.next} of partition {part.partition} of topic id {position.topic_id}, the brokers now "
            f"have topic id {states[part.topic].topic_id}. What the old topic still held is gone: have it sent again "
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
            cause = "the log lost its tail, or the database is newer than Kafka (a restore)"
            fix = "records that were handled once may come again"
        return (
            f"group {part.group} would read {part.topic}[{part.partition}] from offset {move.stored.next}, but its log "
            f"goes from {start} to {end}: {cause}. Nothing is skipped by itself: {fix}, then set next to "
            f"{move.readable.next} for this group, topic and partition in {self._positions.place} and start again"
        )


def _recreated(
    positions: Mapping[GroupPartition, Position], states: Mapping[str, TopicState]
) -> dict[GroupPartition, Position]:
    return {part: at for part, at in positions.items() if states[part.topic].topic_id != at.topic_id}
