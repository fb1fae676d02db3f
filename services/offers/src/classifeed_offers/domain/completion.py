"""Completion of a run: whether the load is whole, and whether it may remove offers and make its waiting changes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from classifeed.feeds.v1.load_pb2 import (
    HOLD_REASON_NO_OFFERS,
    HOLD_REASON_PRICES,
    HOLD_REASON_REMOVALS,
    HOLD_REASON_UNAVAILABLE,
    HoldReason,
)
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_ALLOW_CHANGES,
    HOLD_DECISION_ALLOW_REMOVALS,
    HOLD_DECISION_CONFIRM,
    HOLD_DECISION_REJECT,
    HOLD_DECISION_UNSPECIFIED,
    HoldDecision,
    TaskEnd,
)
from classifeed_offers.domain.offers import digest_of
from classifeed_offers.domain.shifts import Changes, Shift

_NAMED_MISSING = 100


class Wholeness(NamedTuple):
    """Whether all batches of a run were applied as they were sent; `missing` has the first 100 missing numbers."""

    whole: bool
    missing: list[int]


def check_whole(end: TaskEnd, batches: Sequence[tuple[int, bytes]]) -> Wholeness:
    """Compare a run's terminal message with its applied batches, given as (number, digest) in order of the numbers.

    A count is not enough: a batch with other content under the same number, or an extra batch, must not end a load.
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
    """Limits above which a load is held.

    Attributes:
        least_offers: minimum number of removals, price changes or formerly available offers for a load to be held.
        share_percent: share of a namespace's offers up to which a loss is never held, in percent.
        price_factor: factor from which on a change of a price waits for the end of its load; 0: none waits.
        holds_unavailable: whether a load is held if it leaves no offer available.
    """

    least_offers: int = 20
    share_percent: int = 50
    price_factor: float = 5
    holds_unavailable: bool = True

    @property
    def looks_at_changes(self) -> bool:
        """Whether the guard needs the content of an offer before a change."""
        return bool(self.price_factor) or self.holds_unavailable

    def sets_aside(self, shift: Shift, *, has_available: bool) -> bool:
        """Return whether a change waits for the end of its run, because the load may be a mistake.

        Args:
            shift: effect of the change.
            has_available: whether the run has had an available offer, so that not everything becomes unavailable.
        """
        if shift.moves_price(self.price_factor):
            return True
        return self.holds_unavailable and shift.becomes_unavailable and not has_available


class Loss(NamedTuple):
    """Offers of a namespace that a whole REPLACE load lacks; counts offers of the feed that are ACTIVE or PENDING.

    Attributes:
        before: offers that the namespace had at the last earlier load that completed its removals.
        lacking: offers of `before` that the load lacks.
        unseen: all offers that the load lacks, including offers from loads that were held, rejected or broken off.
        most_before: the largest `before` of the loads of the last 7 days; 0: there was none.
        is_empty: whether the load has no offer at all.
    """

    before: int
    lacking: int
    unseen: int
    most_before: int
    is_empty: bool

    @property
    def removals(self) -> int:
        """Number of offers that a person must decide about."""
        return self.unseen if self.is_empty else self.lacking

    @property
    def baseline(self) -> int:
        """Number of offers that the loss is measured against: small losses within a week add up to a large one."""
        return max(self.before, self.most_before)


class Course(Enum):
    """Course of removals and waiting changes at the end of a whole load."""

    PROCEED = "proceed"
    HOLD = "hold"
    DROP = "drop"


class Decision(NamedTuple):
    """Decision at the end of a load: its course, the reasons of a hold, and whether earlier sizes are forgotten.

    Once a loss was allowed, a later load must not be measured against the size before it.
    """

    course: Course
    reasons: tuple[HoldReason, ...] = ()
    forgets_sizes: bool = False


_NAMES: Final = {
    HOLD_DECISION_CONFIRM: "CONFIRM",
    HOLD_DECISION_REJECT: "REJECT",
    HOLD_DECISION_ALLOW_REMOVALS: "ALLOW_REMOVALS",
    HOLD_DECISION_ALLOW_CHANGES: "ALLOW_CHANGES",
}


def name_of_decision(decision: HoldDecision) -> str | None:
    """Return the stored name of a decision; None: nothing was decided."""
    return _NAMES.get(decision)


def is_final(decision: HoldDecision) -> bool:
    """Return whether a decision settles a held load, instead of only allowing something in advance."""
    return decision in {HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT}


def decision_of(name: str | None) -> HoldDecision:
    """Return the decision of a stored name."""
    return next((decision for decision, known in _NAMES.items() if known == name), HOLD_DECISION_UNSPECIFIED)


def decide_end(loss: Loss, changes: Changes, guard: Guard, disposition: str, decision: HoldDecision) -> Decision:
    """Decide whether a whole load removes the offers that it lacks and makes its waiting changes.

    Args:
        loss: offers that the load lacks.
        changes: changes of the load.
        guard: limits of the installation.
        disposition: DELETE, DELETE_ALL, or MAKE_MANUAL, which leaves every offer in the search and is never held.
        decision: decision, or permission in advance, from the terminal message.
    """
    if decision == HOLD_DECISION_REJECT:
        return Decision(Course.DROP)
    removes = disposition != "MAKE_MANUAL"
    of_removals = list_removal_reasons(loss, guard) if removes else ()
    allows_removals = decision in {HOLD_DECISION_CONFIRM, HOLD_DECISION_ALLOW_REMOVALS}
    allows_changes = decision in {HOLD_DECISION_CONFIRM, HOLD_DECISION_ALLOW_CHANGES}
    reasons = () if allows_removals else of_removals
    reasons += () if allows_changes else list_change_reasons(changes, guard)
    if reasons:
        return Decision(Course.HOLD, reasons)
    return Decision(Course.PROCEED, forgets_sizes=bool(of_removals) if removes else loss.unseen > 0)


def list_removal_reasons(loss: Loss, guard: Guard) -> tuple[HoldReason, ...]:
    """Return why a person must decide about a loss; empty: nobody must."""
    if not loss.removals:
        return ()
    if loss.is_empty:
        return (HOLD_REASON_NO_OFFERS,)
    lost = loss.baseline - (loss.before - loss.lacking)
    is_large = lost >= guard.least_offers and lost * 100 > loss.baseline * guard.share_percent
    return (HOLD_REASON_REMOVALS,) if is_large else ()


def list_change_reasons(changes: Changes, guard: Guard) -> tuple[HoldReason, ...]:
    """Return why a person must decide about changes; empty: nobody must.

    The median price moves far exactly if more than half of the changed prices do.
    """
    reasons = []
    if changes.prices >= guard.least_offers and changes.moved * 2 > changes.prices:
        reasons.append(HOLD_REASON_PRICES)
    if guard.holds_unavailable and changes.turned_unavailable >= guard.least_offers:
        reasons.append(HOLD_REASON_UNAVAILABLE)
    return tuple(reasons)
