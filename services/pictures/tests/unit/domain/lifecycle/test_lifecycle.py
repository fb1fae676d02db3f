"""The effect of each event on a picture, also if it is repeated or late."""

from __future__ import annotations

from datetime import timedelta

import pytest

from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_pictures.domain.lifecycle.events import NOBODY, Look, Request
from classifeed_pictures.domain.lifecycle.orders import Copy, Delete, Download
from classifeed_pictures.domain.lifecycle.retries import QUOTA_EXCEEDED, SOURCE_GONE

from .lives import GONE, HOST_DOWN, NOT_FOUND, START, URL, Life, info


@pytest.fixture
def life() -> Life:
    return Life()


def _stored(life: Life) -> Life:
    """Request and store a picture."""
    [order] = life.happen(life.request()).orders
    assert isinstance(order, Download)
    life.happen(life.loaded(info(), order.attempt))
    return life


def _attempt(life: Life) -> int:
    assert life.state is not None
    return life.state.attempt


def test_an_unknown_picture_is_ordered_once(life: Life) -> None:
    effects = life.happen(life.request(), life.request(reference="2"))
    assert [type(order) for order in effects.orders] == [Download]
    assert life.happen(life.request(reference="3"), life.request("shops")).orders == []
    assert effects.results == []


def test_a_repeated_result_goes_to_requests_that_wait_and_changes_nothing(life: Life) -> None:
    """Settled requests wait again after a restore of their table only."""
    life.happen(life.request())
    loaded = life.loaded(info(), _attempt(life))
    effects = life.happen(loaded)
    assert effects.waiting["offers"].result == info()
    repeated = life.happen(loaded)
    assert (repeated.waiting, repeated.orders, life.is_changed) == (effects.waiting, [], False)


def test_a_known_picture_is_settled_and_nothing_is_written(life: Life) -> None:
    _stored(life)
    effects = life.happen(life.request(reference="2"))
    [found] = effects.results
    assert (found.result, found.request.reference) == (info(), "2")
    assert (life.is_changed, effects.remembered, effects.orders) == (False, {}, [])


def test_a_request_of_the_same_poll_is_settled_too(life: Life) -> None:
    [order] = life.happen(life.request()).orders
    assert isinstance(order, Download)
    effects = life.happen(life.request(reference="2"), life.loaded(info(), order.attempt), life.request(reference="3"))
    assert [found.request.reference for found in effects.results] == ["2", "3"]
    assert effects.remembered == {}


def test_what_another_namespace_keeps_is_copied(life: Life) -> None:
    _stored(life)
    [order] = life.happen(life.request("shops")).orders
    assert isinstance(order, Copy)
    assert (order.source, order.namespace) == (info(), "shops")
    effects = life.happen(life.loaded(info("shops"), order.attempt, "shops"))
    assert set(effects.waiting) == {"shops"}


def test_requests_of_other_namespaces_become_copies_once_it_is_there(life: Life) -> None:
    life.happen(life.request(), life.request("shops"), life.request("maps"))
    orders = life.happen(life.loaded(info(), _attempt(life))).orders
    assert {(type(order), order.namespace) for order in orders if isinstance(order, Copy)} == {
        (Copy, "shops"),
        (Copy, "maps"),
    }
    assert len(orders) == 2


def test_a_copy_whose_source_is_gone_becomes_a_download(life: Life) -> None:
    _stored(life)
    [copy] = life.happen(life.request("shops")).orders
    assert isinstance(copy, Copy)
    effects = life.happen(life.loaded(LoadFailure(code=SOURCE_GONE), copy.attempt, "shops"))
    [order] = effects.orders
    assert isinstance(order, Download)
    assert order.attempt > copy.attempt
    assert effects.waiting == {}


def test_a_lasting_failure_is_reported_at_once_and_a_later_success_again(life: Life) -> None:
    life.happen(life.request())
    effects = life.happen(life.loaded(NOT_FOUND, _attempt(life)))
    assert effects.waiting["offers"].result == NOT_FOUND
    life.pass_time(days=2)
    [order] = life.happen(life.look()).orders
    assert isinstance(order, Download)
    assert life.happen(life.loaded(info(), order.attempt)).waiting["offers"].result == info()


def test_a_passing_failure_is_reported_when_it_lasts(life: Life) -> None:
    life.happen(life.request())
    reported = []
    for _ in range(4):
        reported.append(bool(life.happen(life.loaded(HOST_DOWN, _attempt(life))).waiting))
        life.pass_time(days=1)
        life.happen(life.look())
    assert reported == [False, False, True, True]


def test_a_request_after_a_failure_is_reported_and_orders_nothing_before_its_time(life: Life) -> None:
    life.happen(life.request())
    life.happen(life.loaded(NOT_FOUND, _attempt(life)))
    effects = life.happen(life.request(reference="2"))
    assert [found.result for found in effects.results] == [NOT_FOUND]
    assert effects.orders == []
    [(_, reported)] = effects.remembered.values()
    assert reported == _attempt(life)
    life.pass_time(days=1)
    assert [type(order) for order in life.happen(life.request(reference="3")).orders] == [Download]


def test_what_is_gone_is_tried_again_on_request_alone(life: Life) -> None:
    life.happen(life.request())
    life.happen(life.loaded(GONE, _attempt(life)))
    assert life.state is not None
    assert life.state.next_attempt_at is None
    life.pass_time(days=30)
    assert life.happen(life.look()).orders == []
    assert [type(order) for order in life.happen(life.request()).orders] == [Download]


def test_a_look_that_is_not_due_orders_nothing_unless_it_is_forced(life: Life) -> None:
    life.happen(life.request())
    life.happen(life.loaded(HOST_DOWN, _attempt(life)))
    assert life.happen(life.look()).orders == []
    assert [type(order) for order in life.happen(life.look(is_forced=True)).orders] == [Download]
    assert life.happen(life.look(is_forced=True)).orders == []


def test_what_was_lost_is_downloaded_again_under_its_name(life: Life) -> None:
    _stored(life)
    before = _attempt(life)
    life.pass_time(minutes=1)
    refresh = Look(is_forced=True, at=life.now, is_refresh=True)
    assert life.happen(life.look(is_forced=True)).orders == []
    [order] = life.happen(refresh, refresh).orders
    assert isinstance(order, Download)
    effects = life.happen(life.loaded(info(), order.attempt))
    assert (effects.orders, order.attempt > before) == ([], True)


def test_a_lost_order_is_given_again_under_a_higher_number(life: Life) -> None:
    life.happen(life.request())
    lost = _attempt(life)
    life.pass_time(minutes=1)

    def look(attempt: int) -> Look:
        return Look(is_forced=True, at=life.now, lost_attempts=frozenset({attempt}))

    assert life.happen(look(lost - 1)).orders == []
    [order] = life.happen(look(lost), look(lost)).orders
    assert isinstance(order, Download)
    assert order.attempt > lost


def test_an_event_of_the_future_is_one_of_now(life: Life) -> None:
    _stored(life)
    life.happen(life.request("shops", at=START + timedelta(days=300)))
    life.pass_time(minutes=1)
    assert [type(order) for order in life.happen(life.deletion()).orders] == [Delete]


def test_what_a_host_requests_is_kept_to(life: Life) -> None:
    life.happen(life.request())
    failure = LoadFailure(code="HTTP_TOO_MANY_REQUESTS", http_status=429)
    failure.retry_time.FromDatetime(START + timedelta(hours=5))
    life.happen(life.loaded(failure, _attempt(life)))
    life.pass_time(hours=4)
    assert life.happen(life.look()).orders == []
    life.pass_time(hours=1)
    assert [type(order) for order in life.happen(life.look()).orders] == [Download]


def test_an_order_without_a_result_is_given_again(life: Life) -> None:
    [first] = life.happen(life.request()).orders
    life.pass_time(minutes=59)
    assert life.happen(life.look()).orders == []
    life.pass_time(minutes=1)
    [again] = life.happen(life.look()).orders
    assert isinstance(first, Download)
    assert isinstance(again, Download)
    assert again.attempt > first.attempt


def test_the_older_attempt_never_wins(life: Life) -> None:
    [first] = life.happen(life.request()).orders
    assert isinstance(first, Download)
    life.pass_time(hours=1)
    life.happen(life.look())
    newer = _attempt(life)
    life.happen(life.loaded(info(content=b"2"), newer))
    effects = life.happen(life.loaded(info(content=b"1"), first.attempt))
    assert life.state is not None
    assert life.state.holdings["offers"].info == info(content=b"2")
    assert effects.orders == [Delete(info(content=b"1"), first.attempt)]
    assert life.happen(life.loaded(NOT_FOUND, first.attempt)).waiting == {}


def test_a_failure_of_an_older_attempt_says_nothing_of_a_newer_one(life: Life) -> None:
    [first] = life.happen(life.request()).orders
    assert isinstance(first, Download)
    life.pass_time(hours=1)
    life.happen(life.look())
    assert life.happen(life.loaded(NOT_FOUND, first.attempt)).waiting == {}
    assert life.state is not None
    assert life.state.holdings["offers"].ordered_at == life.now


def test_a_full_namespace_keeps_nobody_else_from_the_picture(life: Life) -> None:
    life.happen(life.request(), life.request("shops"))
    effects = life.happen(life.loaded(LoadFailure(code=QUOTA_EXCEEDED), _attempt(life)))
    assert effects.waiting["offers"].result.code == QUOTA_EXCEEDED  # type: ignore[union-attr]
    [order] = effects.orders
    assert isinstance(order, Download)
    assert order.namespace == "shops"


def test_the_first_comparison_marks_and_the_second_deletes(life: Life) -> None:
    _stored(life)
    life.pass_time(minutes=1)
    assert life.happen(life.unused()).orders == []
    life.pass_time(hours=23)
    assert life.happen(life.unused()).orders == []
    life.pass_time(hours=1)
    effects = life.happen(life.unused())
    assert [type(order) for order in effects.orders] == [Delete]
    assert effects.forgotten == {"", "offers"}
    assert life.state is None


def test_a_mark_of_long_ago_is_no_first_finding(life: Life) -> None:
    _stored(life)
    life.pass_time(minutes=1)
    life.happen(life.unused())
    life.pass_time(days=8)
    assert life.happen(life.unused()).orders == []
    life.pass_time(hours=24)
    assert [type(order) for order in life.happen(life.unused()).orders] == [Delete]


def test_what_is_requested_by_hand_stays(life: Life) -> None:
    [order] = life.happen(Request("offers", NOBODY, "", URL, life.now)).orders
    assert isinstance(order, Download)
    life.happen(life.loaded(info(), order.attempt))
    for _ in range(3):
        life.pass_time(hours=25)
        assert life.happen(life.unused()).orders == []
    assert [type(order) for order in life.happen(life.deletion()).orders] == [Delete]


def test_a_request_between_clears_the_mark(life: Life) -> None:
    _stored(life)
    life.pass_time(minutes=1)
    life.happen(life.unused())
    life.pass_time(hours=1)
    life.happen(life.request(reference="2"))
    assert life.is_changed
    life.pass_time(hours=25)
    assert life.happen(life.unused()).orders == []


def test_repeated_and_late_comparisons_count_once(life: Life) -> None:
    _stored(life)
    life.pass_time(minutes=1)
    marked = life.unused()
    life.happen(marked, marked)
    life.pass_time(hours=30)
    assert life.happen(marked).orders == []
    life.happen(life.request(reference="2"))
    late = life.unused(life.now - timedelta(hours=1))
    assert life.happen(late).orders == []
    assert life.state is not None
    assert life.state.delete_mark_at is None


def test_a_request_from_before_the_mark_does_not_clear_it(life: Life) -> None:
    _stored(life)
    requested = life.request(reference="2")
    life.pass_time(hours=1)
    life.happen(life.unused())
    life.happen(requested)
    assert life.state is not None
    assert life.state.delete_mark_at == life.now


def test_a_deletion_deletes_at_once_what_was_not_requested_since(life: Life) -> None:
    _stored(life)
    late = life.deletion()
    life.pass_time(minutes=1)
    life.happen(life.request("shops"))
    assert life.happen(late).orders == []
    life.pass_time(minutes=1)
    assert [type(order) for order in life.happen(life.deletion("offers")).orders] == [Delete]
    assert life.state is not None
    assert set(life.state.holdings) == {"shops"}


def test_a_result_for_what_was_deleted_is_deleted(life: Life) -> None:
    life.happen(life.request())
    attempt = _attempt(life)
    life.pass_time(minutes=1)
    life.happen(life.deletion())
    assert life.happen(life.loaded(info(), attempt)).orders == [Delete(info(), attempt)]


def test_a_result_of_an_earlier_life_is_deleted_too(life: Life) -> None:
    life.happen(life.request())
    earlier = _attempt(life)
    life.pass_time(minutes=1)
    life.happen(life.deletion())
    life.pass_time(minutes=1)
    life.happen(life.request())
    assert life.happen(life.loaded(info(), earlier)).orders == [Delete(info(), earlier)]
    assert life.state is not None
    assert life.state.holdings["offers"].info is None


def test_numbers_of_attempts_grow_across_a_deletion(life: Life) -> None:
    _stored(life)
    before = _attempt(life)
    life.pass_time(minutes=1)
    life.happen(life.deletion())
    life.pass_time(seconds=1)
    life.happen(life.request())
    assert _attempt(life) > before
