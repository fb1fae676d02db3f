"""Compare an index with the registry, shard by shard, at the same positions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from classifeed.documents.v1.index_queue_service_pb2 import ShardDigest
from classifeed_searcher.clients.receiver import ReceiverClient
from classifeed_searcher.clients.topic_log import Positions, TopicLog
from classifeed_searcher.engine.index import Sums
from classifeed_searcher.store.generation import EMERGENCY, MAIN, IndexDigest, IndexGeneration
from classifeed_searcher.store.positions import reach
from classifeed_searcher.store.state_file import IndexState

_REACH_S: Final = 10.0


class Outcome(Enum):
    """Outcome of the comparison of a shard."""

    EQUAL = "equal"
    DIFFERENT = "different"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one shard.

    Attributes:
        outcome: outcome; LATER: the shard is changing, or its elements are not delivered yet.
        ends: last elements of the queues `main` and `emergency` to which the outcome applies.
        text: description of the difference, for people.
    """

    outcome: Outcome
    ends: tuple[int, int]
    text: str = ""


async def compare_digests(
    receiver: ReceiverClient, topic: TopicLog, generation: IndexGeneration, shards: Sequence[int]
) -> dict[int, Verdict]:
    """Return a verdict for each of some shards, at least one.

    The receiver returns the sums and the ends of its queues from one snapshot. If all elements up to these ends were
    delivered, they are before the present end of the topic. Once the index has reached that end and has no later
    element of the shard, both sides are in the same state.

    Raises:
        DomainError: the receiver or Kafka is unavailable.
    """
    before = generation.state
    theirs = await receiver.digests(shards)
    is_there = await _reach(generation, await topic.ends())
    digest = await asyncio.to_thread(generation.digest, min(shards), max(shards))
    verdicts: dict[int, Verdict] = {}
    for shard in shards:
        it = theirs[shard]
        ends = (it.main_idx, it.emergency_idx)
        had, has = _reached(before, shard), _reached(digest.state, shard)
        if any(mine > end for mine, end in zip(had, ends, strict=True)):
            text = f"shard {shard} was indexed up to {max(had)}, the registry has only {max(ends)}: it was restored"
            verdicts[shard] = Verdict(Outcome.DIFFERENT, ends, text)
        elif not is_there or not _is_delivered(it) or any(mine > end for mine, end in zip(has, ends, strict=True)):
            verdicts[shard] = Verdict(Outcome.LATER, ends)
        else:
            verdicts[shard] = await asyncio.to_thread(_compare, generation, digest, it)
    return verdicts


def _compare(generation: IndexGeneration, digest: IndexDigest, theirs: ShardDigest) -> Verdict:
    ends = (theirs.main_idx, theirs.emergency_idx)
    wanted = Sums(theirs.documents, theirs.sum_a, theirs.sum_b)
    found = generation.digest_as_if(digest, theirs.shard, {failed.pk: failed.version for failed in theirs.failed})
    if found == wanted:
        return Verdict(Outcome.EQUAL, ends)
    text = f"shard {theirs.shard} has {found.documents} documents, the registry {wanted.documents}"
    if found.documents == wanted.documents:
        text += ", not in the same versions"
    return Verdict(Outcome.DIFFERENT, ends, text)


def _reached(state: IndexState, shard: int) -> tuple[int, int]:
    return state.watermarks.reached(shard, MAIN), state.watermarks.reached(shard, EMERGENCY)


def _is_delivered(digest: ShardDigest) -> bool:
    return digest.main_delivered_idx >= digest.main_idx and digest.emergency_delivered_idx >= digest.emergency_idx


async def _reach(generation: IndexGeneration, ends: Positions) -> bool:
    """Return whether the index reached some ends of the topic in time."""
    try:
        async with asyncio.timeout(_REACH_S):
            await reach(generation, ends)
    except TimeoutError:
        return False
    return True
