"""The duration of a linger."""

from __future__ import annotations

import pytest

from classifeed_common.pacing.gathering import pause_after


@pytest.mark.parametrize(
    ("took_s", "times", "pause_s"), [(0.0, 3, 0.0), (0.01, 3, 0.03), (1.0, 3, 0.5), (0.01, 30, 0.3), (0.1, 30, 0.5)]
)
def test_a_pause_is_so_many_times_the_transaction_up_to_the_longest(
    took_s: float, times: float, pause_s: float
) -> None:
    assert pause_after(took_s, longest_s=0.5, times=times) == pytest.approx(pause_s)
