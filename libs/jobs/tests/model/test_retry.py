from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from classifeed_jobs import Exponential, Fixed, Linear


def test_fixed_and_linear() -> None:
    assert [Fixed(3).delay_s(attempt) for attempt in (1, 2, 9)] == [3, 3, 3]
    assert [Linear(30, cap_s=100).delay_s(attempt) for attempt in (1, 2, 3, 4)] == [30, 60, 90, 100]


@given(st.integers(1, 10**6))
def test_exponential_doubles_up_to_its_cap_and_spreads(attempt: int) -> None:
    whole = min(60.0, 0.5 * 2.0 ** min(attempt - 1, 30))
    assert whole / 2 <= Exponential(0.5, cap_s=60).delay_s(attempt) <= whole
