"""The end of a run: is the load whole, and may what it lacks be removed?"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from classifeed.feeds.v1.load_pb2 import HOLD_REASON_NO_OFFERS, HOLD_REASON_REMOVALS, HoldReason
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_CONFIRM,
    HOLD_DECISION_REJECT,
    HOLD_DECISION_UNSPECIFIED,
    HoldDecision,
    TaskEnd,
)
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


class Guard(NamedTuple):
    """When a load is held because of what it would remove.

    Attributes:
        least_offers: a loss of fewer offers is never held.
        share_percent: a loss of up to this share of the namespace's offers is never held.
    """

    least_offers: int = 20
    share_percent: int = 50


class Loss(NamedTuple):
    """What a whole REPLACE load lacks of a namespace; counted are offers of the feed that are ACTIVE or PENDING.

    Attributes:
        before: offers that the namespace had at the last load before this one that removed what it lacked.
        lacking: those of them that the load lacks.
        unseen: all that the load lacks, with those that loads have brought that were held, rejected or broken off.
        most_before: the largest `before` of the loads of the last 7 days; 0 where there was none.
        is_empty: whether the load has no offer at all.
    """

    before: int
    lacking: int
    unseen: int
    most_before: int
    is_empty: bool

    @property
    def removals(self) -> int:
        """What somebody has to decide about."""
        return self.unseen if self.is_empty else self.lacking

    @property
    def baseline(self) -> int:
        """What the loss is measured by: many small losses within a week are one large one."""
        return max(self.before, self.most_before)


class Removals(Enum):
    """What happens to the offers that a whole load lacks."""

    SWEEP = "sweep"
    HOLD = "hold"
    KEEP = "keep"


class Decision(NamedTuple):
    """What happens to the offers that a load lacks, why it is held, and whether earlier sizes are forgotten.

    Once a loss was allowed, a later load must not be measured by what the namespace had before it.
    """

    removals: Removals
    reasons: tuple[HoldReason, ...] = ()
    forgets_sizes: bool = False


_NAMES: Final = {HOLD_DECISION_CONFIRM: "CONFIRM", HOLD_DECISION_REJECT: "REJECT"}


def name_of_decision(decision: HoldDecision) -> str | None:
    """Return the name that a decision is stored by; None where nothing was decided."""
    return _NAMES.get(decision)


def decision_of(name: str | None) -> HoldDecision:
    """Return the decision of a stored name."""
    return next((decision for decision, known in _NAMES.items() if known == name), HOLD_DECISION_UNSPECIFIED)


def decide_removals(loss: Loss, guard: Guard, disposition: str, decision: HoldDecision) -> Decision:
    """Decide what happens to the offers that a whole load lacks.

    Args:
        loss: what the load lacks.
        guard: the limits of the installation.
        disposition: DELETE, or MAKE_MANUAL: that leaves every offer in the search, so it is never held.
        decision: what the terminal message says was decided.
    """
    if decision == HOLD_DECISION_REJECT:
        return Decision(Removals.KEEP)
    if disposition == "MAKE_MANUAL":
        return Decision(Removals.SWEEP, forgets_sizes=loss.unseen > 0)
    reasons = find_hold_reasons(loss, guard)
    if decision == HOLD_DECISION_CONFIRM:
        return Decision(Removals.SWEEP, forgets_sizes=bool(reasons))
    return Decision(Removals.HOLD, reasons) if reasons else Decision(Removals.SWEEP)


def find_hold_reasons(loss: Loss, guard: Guard) -> tuple[HoldReason, ...]:
    """Return why a loss has to be decided about by a person; nothing where it need not."""
    if not loss.removals:
        return ()
    if loss.is_empty:
        return (HOLD_REASON_NO_OFFERS,)
    lost = loss.baseline - (loss.before - loss.lacking)
    is_large = lost >= guard.least_offers and lost * 100 > loss.baseline * guard.share_percent
    return (HOLD_REASON_REMOVALS,) if is_large else ()
