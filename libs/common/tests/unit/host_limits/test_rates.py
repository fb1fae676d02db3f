"""Rates of hosts: bounded, slower after refusals, faster after successes; with a simulated clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifeed_common.fetch.permits import Outcome
from classifeed_common.host_limits import HostPolicy
from classifeed_common.host_limits.rates import RateChange, rate_change, spacing_s

POLICY = HostPolicy(first_rate=2, lowest_rate=0.1, highest_rate=50, step=1, backoff=0.5)
rates = st.floats(min_value=0.1, max_value=50)
outcomes = st.sampled_from(Outcome)


@given(rates, st.lists(outcomes))
def test_a_rate_stays_within_its_bounds(rate: float, responses: list[Outcome]) -> None:
    for outcome in responses:
        rate = rate_change(rate, outcome, POLICY).applied_to(rate, POLICY)
        assert POLICY.lowest_rate <= rate <= POLICY.highest_rate


@given(rates)
def test_each_outcome_has_its_direction(rate: float) -> None:
    changed = {outcome: rate_change(rate, outcome, POLICY).applied_to(rate, POLICY) for outcome in Outcome}
    assert rate <= changed[Outcome.OK] <= 1.5 * rate
    assert changed[Outcome.SLOW_DOWN] == max(POLICY.lowest_rate, rate / 2)
    assert changed[Outcome.FAILED] == changed[Outcome.REFUSED] == rate


@given(rates, st.integers(min_value=1, max_value=20), st.permutations(range(20)))
def test_requests_that_were_under_way_together_slow_their_host_once(
    rate: float, refused: int, order: list[int]
) -> None:
    report = RateChange()
    for number in order:
        outcome = Outcome.SLOW_DOWN if number < refused else Outcome.FAILED
        report = report.and_then(rate_change(rate, outcome, POLICY))
    assert report.applied_to(rate, POLICY) == max(POLICY.lowest_rate, rate / 2)


@given(rates.filter(lambda rate: rate >= 1))
def test_a_second_at_full_use_adds_a_step_at_most(rate: float) -> None:
    first, change = rate, RateChange()
    for _ in range(int(rate)):
        change = change.and_then(rate_change(rate, Outcome.OK, POLICY))
    assert change.applied_to(rate, POLICY) <= first + POLICY.step + 1e-9


@given(st.floats(min_value=0.5, max_value=40), rates)
def test_a_host_gets_about_as_many_requests_as_it_bears(bears: float, rate: float) -> None:
    """A server that refuses more than `bears` requests per second, over 600 s of the test's clock."""
    now_s, last_s, served, refused = 0.0, float("-inf"), 0, 0
    while now_s < 600:
        is_served = now_s - last_s >= 1 / bears
        last_s = now_s if is_served else last_s
        rate = rate_change(rate, Outcome.OK if is_served else Outcome.SLOW_DOWN, POLICY).applied_to(rate, POLICY)
        if now_s > 100:
            served, refused = served + is_served, refused + (not is_served)
        now_s += spacing_s(rate, POLICY)
    assert served >= 0.3 * bears * 500
    assert refused <= served


@given(st.floats(min_value=0.1, max_value=400), st.lists(st.floats(min_value=0, max_value=1), min_size=2, max_size=50))
def test_no_second_has_more_requests_than_the_rate(rate: float, lateness: list[float]) -> None:
    """Each permit is used at any time within its lifetime."""
    policy = HostPolicy(lowest_rate=0.1, highest_rate=400)
    space_s = spacing_s(rate, policy)
    sent_s = sorted(number * space_s + late * policy.send_within_s for number, late in enumerate(lateness))
    for start_s in sent_s:
        assert sum(start_s <= each < start_s + 1 for each in sent_s) <= max(1, rate)


@pytest.mark.parametrize(
    "wrong",
    [{"lowest_rate": 0}, {"first_rate": 100}, {"highest_rate": 1}, {"backoff": 1}, {"step": 0}, {"at_a_time": 0},
     {"send_within_s": 0}, {"max_wait_s": -1}],
)  # fmt: skip
def test_a_policy_that_means_nothing_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="HostPolicy"):
        HostPolicy(**wrong)  # type: ignore[arg-type]
