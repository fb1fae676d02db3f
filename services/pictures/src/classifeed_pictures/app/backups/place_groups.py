"""Finds the positions at which consumer groups continue after a restore."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from classifeed_common.kafka import Cluster
from classifeed_pictures.domain.backups import Stand

Reader: TypeAlias = tuple[str, str]
"""Group and topic."""


@dataclass(frozen=True, slots=True)
class Places:
    """The positions at which consumer groups continue.

    Attributes:
        exact: positions of the group whose events are applied again.
        least: lowest positions of the other groups, which keep their progress since the backup unless their positions
            are lost.
        lost: number of events since the backup that the topic no longer has.
        is_whole: whether the topic has all events since the backup; False if it was created again.
    """

    exact: tuple[Stand, ...]
    least: tuple[Stand, ...]
    lost: int
    is_whole: bool


async def place_groups(cluster: Cluster, saved: Sequence[Stand], *, replayed: Reader) -> Places:
    """Return the positions at which the groups of a backup continue, given the present topics.

    Partitions added since the backup, and topics that were created again, are read from their start.

    Raises:
        Unavailable: the brokers do not respond.
    """
    readers: defaultdict[Reader, dict[int, Stand]] = defaultdict(dict)
    readers[replayed] = {}
    for stand in saved:
        readers[stand.group, stand.topic][stand.partition] = stand
    states = await cluster.topics({topic for _, topic in readers})
    starts = await cluster.starts([(topic, at) for topic, state in states.items() for at in range(state.partitions)])
    exact: list[Stand] = []
    least: list[Stand] = []
    lost, is_whole = 0, True
    for (group, topic), stands in readers.items():
        if topic not in states:
            continue
        topic_id = states[topic].topic_id
        for partition in range(states[topic].partitions):
            start = starts[topic, partition]
            known = stands.get(partition)
            is_same = known is not None and known.topic_id == topic_id
            following = known.next if known is not None and is_same else start
            place = Stand(group, topic, partition, topic_id, max(following, start))
            if (group, topic) != replayed:
                least.append(place)
                continue
            exact.append(place)
            lost += place.next - following
            is_whole &= following == place.next and (known is None or is_same)
    return Places(tuple(exact), tuple(least), lost, is_whole)
