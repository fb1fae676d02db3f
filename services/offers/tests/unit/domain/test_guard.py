"""When a load is held because of removals: pure figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifeed.feeds.v1.load_pb2 import HOLD_REASON_NO_OFFERS, HOLD_REASON_REMOVALS
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_CONFIRM,
    HOLD_DECISION_REJECT,
    HOLD_DECISION_UNSPECIFIED,
    HoldDecision,
)
from classifeed_offers.domain.completion import Course, Decision, Guard, Loss, decide_end, list_removal_reasons
from classifeed_offers.domain.shifts import Changes

REMOVALS, NO_OFFERS = (HOLD_REASON_REMOVALS,), (HOLD_REASON_NO_OFFERS,)


def loss(before: int, lacking: int, most_before: int = 0, *, brought: int = 0, is_empty: bool = False) -> Loss:
    return Loss(before, lacking, lacking + brought, most_before, is_empty)


@pytest.mark.parametrize(
    ("found", "reasons"),
    [
        (loss(1000, 500), ()),
        (loss(1000, 501), REMOVALS),
        (loss(1000, 1000), REMOVALS),  # all ids changed: added offers are not in `before`
        (loss(39, 20), REMOVALS),
        (loss(37, 19), ()),
        (loss(19, 19), ()),
        (loss(0, 0), ()),
        # 49 % twice in a week, and a third load that lacks no more.
        (loss(510, 250, 1000), REMOVALS),
        (loss(510, 0, 1000), ()),
        (loss(510, 1, 1000), ()),
        (loss(400, 1, 1000), REMOVALS),
        # The namespace has grown since, so its current size counts.
        (loss(5000, 2500, 1000), ()),
        (loss(1327, 1327, is_empty=True), NO_OFFERS),
        (loss(1, 1, is_empty=True), NO_OFFERS),
        (loss(0, 0, 1000, is_empty=True), ()),
        # Offers of loads that were not accepted are removed without a decision, unless nothing is left.
        (loss(1000, 0, brought=1000), ()),
        (loss(0, 0, brought=5, is_empty=True), NO_OFFERS),
    ],
)
def test_reasons(found: Loss, reasons: tuple[int, ...]) -> None:
    assert list_removal_reasons(found, Guard()) == reasons


def test_limits_are_those_of_the_installation() -> None:
    assert list_removal_reasons(loss(10, 6), Guard(least_offers=5)) == REMOVALS
    assert list_removal_reasons(loss(100, 21), Guard(share_percent=20)) == REMOVALS
    assert list_removal_reasons(loss(100, 100), Guard(share_percent=100)) == ()


@pytest.mark.parametrize(
    ("found", "disposition", "decision", "expected"),
    [
        (loss(100, 90), "DELETE", HOLD_DECISION_UNSPECIFIED, Decision(Course.HOLD, REMOVALS)),
        (loss(100, 10), "DELETE", HOLD_DECISION_UNSPECIFIED, Decision(Course.PROCEED)),
        (loss(100, 90), "DELETE", HOLD_DECISION_CONFIRM, Decision(Course.PROCEED, forgets_sizes=True)),
        (loss(100, 10), "DELETE", HOLD_DECISION_CONFIRM, Decision(Course.PROCEED)),
        (loss(100, 90), "DELETE", HOLD_DECISION_REJECT, Decision(Course.DROP)),
        (loss(100, 90), "MAKE_MANUAL", HOLD_DECISION_UNSPECIFIED, Decision(Course.PROCEED, forgets_sizes=True)),
        (loss(100, 0), "MAKE_MANUAL", HOLD_DECISION_UNSPECIFIED, Decision(Course.PROCEED)),
        (loss(9, 9, is_empty=True), "MAKE_MANUAL", HOLD_DECISION_REJECT, Decision(Course.DROP)),
    ],
)
def test_what_happens(found: Loss, disposition: str, decision: HoldDecision, expected: Decision) -> None:
    assert decide_end(found, Changes(), Guard(), disposition, decision) == expected


@st.composite
def losses(draw: st.DrawFn) -> Loss:
    before = draw(st.integers(0, 10_000))
    lacking = draw(st.integers(0, before))
    return Loss(before, lacking, lacking + draw(st.integers(0, 50)), draw(st.integers(0, 10_000)), draw(st.booleans()))


@given(losses(), st.integers(1, 100), st.integers(1, 100))
def test_more_lost_is_never_less_held(found: Loss, least: int, share: int) -> None:
    guard = Guard(least, share)
    reasons = list_removal_reasons(found, guard)
    if found.lacking < found.before:
        assert not reasons or list_removal_reasons(
            found._replace(lacking=found.lacking + 1, unseen=found.unseen + 1), guard
        )
    assert not reasons or list_removal_reasons(found._replace(most_before=found.most_before + 1), guard)
    assert not reasons or found.removals
    if reasons == REMOVALS:
        kept = found.before - found.lacking
        assert found.baseline - kept >= least
        assert kept * 100 < found.baseline * (100 - share)
