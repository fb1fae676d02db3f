"""The end of a run: is the load whole, and may what it lacks be removed?"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from classifeed.feeds.v1.offer_requests_pb2 import TaskEnd
from classifeed_offers.domain.offers import digest_of

_NAMED_MISSING = 100


class Wholeness(NamedTuple):
    """Whether all batches of a run were applied as they were sent; `missing` names the first 100 that never came."""

    whole: bool
    missing: list[int]


def check_whole(end: TaskEnd, batches: Sequence[tuple[int, bytes]]) -> Wholeness:
    """Compare a run's terminal message with the batches that were applied, (number, digest) in order of the numbers.

    A count alone would not do: a batch of other content under the same number, or one too many, must not end a load.
    """
    have = {batch_id for batch_id, _ in batches}
    if len(have) < end.batch_count or any(batch_id > end.batch_count for batch_id in have):
        missing: list[int] = []
        for batch_id in range(1, end.batch_count + 1):
            if batch_id not in have:
                missing.append(batch_id)
                if len(missing) == _NAMED_MISSING:
                    break
        return Wholeness(whole=False, missing=missing)
    digest = digest_of(b"".join(digest for _, digest in batches))
    return Wholeness(whole=digest == end.digest, missing=[])


class Removals(Enum):
    """What happens to the offers that a whole load lacks."""

    SWEEP = "sweep"


def decide_removals(present: int, lacking: int) -> Removals:  # noqa: ARG001 - see below
    """Say what happens to `lacking` offers of a namespace that has `present`.

    Always a sweep so far. This is the one place where a guard against mass removal will answer HELD instead.
    """
    return Removals.SWEEP
