"""The end of a run: is the load whole, and may it remove what it lacks and make the changes that wait?"""

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
    """When a load is held because of what it would remove or change.

    Attributes:
        least_offers: a loss of fewer offers is never held, nor a change of fewer prices, nor of fewer available offers.
        share_percent: a loss of up to this share of the namespace's offers is never held.
        price_factor: a change of a price by this factor or more waits for the end of its load; 0: none does.
        holds_unavailable: whether a load is held of which no offer is available any more.
    """

    least_offers: int = 20
    share_percent: int = 50
    price_factor: float = 5
    holds_unavailable: bool = True

    @property
    def looks_at_changes(self) -> bool:
        """Whether the content of an offer before a change matters."""
        return bool(self.price_factor) or self.holds_unavailable

    def sets_aside(self, shift: Shift, *, has_available: bool) -> bool:
        """Return whether a change waits for the end of its run: until then nobody knows whether the load is a mistake.

        Args:
            shift: what the change does.
            has_available: whether an available offer has come in the run, so that not everything becomes unavailable.
        """
        if shift.moves_price(self.price_factor):
            return True
        return self.holds_unavailable and shift.becomes_unavailable and not has_available


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


class Course(Enum):
    """What happens to what waits for the end of a whole load: removals of what it lacks, and changes set aside."""

    PROCEED = "proceed"
    HOLD = "hold"
    DROP = "drop"


class Decision(NamedTuple):
    """What happens at the end of a load, why it is held, and whether earlier sizes are forgotten.

    Once a loss was allowed, a later load must not be measured by what the namespace had before it.
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
    """Return the name that a decision is stored by; None where nothing was decided."""
    return _NAMES.get(decision)


def is_final(decision: HoldDecision) -> bool:
    """Return whether a decision settles a held load, and not only allows something beforehand."""
    return decision in {HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT}


def decision_of(name: str | None) -> HoldDecision:
    """Return the decision of a stored name."""
    return next((decision for decision, known in _NAMES.items() if known == name), HOLD_DECISION_UNSPECIFIED)


def decide_end(loss: Loss, changes: Changes, guard: Guard, disposition: str, decision: HoldDecision) -> Decision:
    """Decide whether a whole load removes what it lacks and makes the changes that wait.

    Args:
        loss: what the load lacks.
        changes: what it changes.
        guard: the limits of the installation.
        disposition: DELETE, DELETE_ALL, or MAKE_MANUAL: the last leaves every offer in the search and is never held.
        decision: what was decided, or allowed beforehand, by the terminal message.
    """
    if decision == HOLD_DECISION_REJECT:
        return Decision(Course.DROP)
    removes = disposition != "MAKE_MANUAL"
    of_removals = find_removal_reasons(loss, guard) if removes else ()
    allows_removals = decision in {HOLD_DECISION_CONFIRM, HOLD_DECISION_ALLOW_REMOVALS}
    allows_changes = decision in {HOLD_DECISION_CONFIRM, HOLD_DECISION_ALLOW_CHANGES}
    reasons = () if allows_removals else of_removals
    reasons += () if allows_changes else find_change_reasons(changes, guard)
    if reasons:
        return Decision(Course.HOLD, reasons)
    return Decision(Course.PROCEED, forgets_sizes=bool(of_removals) if removes else loss.unseen > 0)


def find_removal_reasons(loss: Loss, guard: Guard) -> tuple[HoldReason, ...]:
    """Return why a loss has to be decided about by a person; nothing where it need not."""
    if not loss.removals:
        return ()
    if loss.is_empty:
        return (HOLD_REASON_NO_OFFERS,)
    lost = loss.baseline - (loss.before - loss.lacking)
    is_large = lost >= guard.least_offers and lost * 100 > loss.baseline * guard.share_percent
    return (HOLD_REASON_REMOVALS,) if is_large else ()


def find_change_reasons(changes: Changes, guard: Guard) -> tuple[HoldReason, ...]:
    """Return why changes have to be decided about by a person; nothing where they need not.

    The median of the changed prices moves far exactly if more than half of them do.
    """
    reasons = []
    if changes.prices >= guard.least_offers and changes.moved * 2 > changes.prices:
        reasons.append(HOLD_REASON_PRICES)
    if guard.holds_unavailable and changes.turned_unavailable >= guard.least_offers:
        reasons.append(HOLD_REASON_UNAVAILABLE)
    return tuple(reasons)
