"""Which elements of a shard are new."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from classifeed_searcher.domain.watermarks import Admission, Watermarks

MAIN, EMERGENCY = 1, 2


def test_repetition_is_refused() -> None:
    marks = Watermarks()
    assert marks.admit(3, MAIN, fence=1, idx=5) is Admission.NEW
    assert marks.admit(3, MAIN, fence=1, idx=5) is Admission.REPEATED
    assert marks.admit(3, MAIN, fence=2, idx=4) is Admission.REPEATED


def test_sender_that_lost_the_lease_is_refused_even_for_what_nobody_sent_yet() -> None:
    marks = Watermarks()
    assert marks.admit(0, MAIN, fence=2, idx=10) is Admission.NEW
    assert marks.admit(0, MAIN, fence=1, idx=11) is Admission.FENCED
    assert marks.admit(0, MAIN, fence=2, idx=11) is Admission.NEW


def test_queues_and_shards_are_apart() -> None:
    marks = Watermarks()
    assert marks.admit(0, MAIN, fence=1, idx=10) is Admission.NEW
    assert marks.admit(0, EMERGENCY, fence=1, idx=1) is Admission.NEW
    assert marks.admit(1, MAIN, fence=1, idx=1) is Admission.NEW


def test_copy_leaves_the_original_alone() -> None:
    marks = Watermarks()
    marks.admit(0, MAIN, fence=1, idx=1)
    tried = marks.copy()
    tried.admit(0, MAIN, fence=3, idx=9)
    assert (marks.reached(0, MAIN), tried.reached(0, MAIN)) == (1, 9)
    assert marks.admit(0, MAIN, fence=2, idx=2) is Admission.NEW


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 2), st.integers(1, 4), st.integers(1, 9)), max_size=60))
def test_admitted_elements_only_grow_and_survive_a_dump(events: list[tuple[int, int, int, int]]) -> None:
    marks = Watermarks()
    admitted: dict[tuple[int, int], list[int]] = {}
    for shard, queue, fence, idx in events:
        if marks.admit(shard, queue, fence, idx) is Admission.NEW:
            admitted.setdefault((shard, queue), []).append(idx)
        marks = Watermarks.load(marks.dump())
    for row in admitted.values():
        assert row == sorted(set(row))


def test_marks_that_begin_at_some_elements_hear_any_sender() -> None:
    marks = Watermarks.at({3: {MAIN: 5, EMERGENCY: 2}})
    assert marks.admit(3, MAIN, fence=7, idx=5) is Admission.REPEATED
    assert marks.admit(3, MAIN, fence=7, idx=6) is Admission.NEW
    assert marks.admit(4, MAIN, fence=1, idx=1) is Admission.NEW
