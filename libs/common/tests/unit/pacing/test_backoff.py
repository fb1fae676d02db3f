"""Pauses double up to the longest, and begin again after a success."""

from __future__ import annotations

from classifeed_common.pacing.backoff import Backoff


def test_pauses_double_up_to_the_longest_and_begin_again() -> None:
    backoff = Backoff(1, 5)
    assert [backoff.next_s() for _ in range(5)] == [1, 2, 4, 5, 5]
    assert [backoff.next_s() for _ in range(100_000)][-1] == 5, "faults of months"
    backoff.reset()
    assert backoff.next_s() == 1


def test_pauses_without_a_longest_one_stay_the_same() -> None:
    backoff = Backoff(0.5)
    assert [backoff.next_s() for _ in range(3)] == [0.5, 0.5, 0.5]


def test_the_first_pause_is_no_longer_than_the_longest() -> None:
    backoff = Backoff(1, 0.1)
    assert [backoff.next_s(), backoff.next_s()] == [0.1, 0.1]
