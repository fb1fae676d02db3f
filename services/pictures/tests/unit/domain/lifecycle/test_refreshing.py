"""Held pictures are refreshed when they are due, and their recipients get the replacement."""

from __future__ import annotations

from datetime import timedelta

import pytest

from classifeed.pictures.v1.orders_pb2 import Unchanged
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_pictures.domain.lifecycle.events import NOBODY, Put, Request
from classifeed_pictures.domain.lifecycle.orders import Copy, Delete, Download
from classifeed_pictures.domain.lifecycle.refreshing import promised_s, refresh_time
from classifeed_pictures.domain.lifecycle.retries import DELETED, QUOTA_EXCEEDED
from classifeed_pictures.domain.lifecycle.robots_tags import NOINDEX

from .lives import GONE, HASH, HOST_DOWN, NOT_FOUND, START, URL, Life, info

MONTH = timedelta(days=30)


@pytest.fixture
def life() -> Life:
    """Return a requested and stored picture."""
    life = Life()
    [order] = life.happen(life.request()).orders
    assert isinstance(order, Download)
    life.happen(life.loaded(info(), order.attempt))
    return life


def _refresh(life: Life, days: float = 30) -> Download:
    life.pass_time(days=days)
    [order] = life.happen(life.look()).orders
    assert isinstance(order, Download)
    assert order.held is not None
    return order


def test_a_held_picture_is_refreshed_once_its_time_has_come(life: Life) -> None:
    life.pass_time(days=29.9)
    assert life.happen(life.look()).orders == []
    order = _refresh(life, days=0.1)
    assert order.held == info()
    assert life.happen(life.look(), life.look(is_forced=True)).orders == []


def test_what_is_unchanged_moves_its_time_and_nobody_hears_of_it(life: Life) -> None:
    order = _refresh(life)
    effects = life.happen(life.loaded(Unchanged(source_etag="2"), order.attempt))
    assert (effects.orders, effects.results, effects.waiting, effects.changed) == ([], [], {}, {})
    assert life.state is not None
    assert life.state.holdings["offers"].info.source_etag == "2"  # type: ignore[union-attr]
    assert life.state.next_attempt_at == life.state.refresh_at == life.now + MONTH


def test_a_change_goes_to_those_who_know_the_old_one_once(life: Life) -> None:
    again = life.request(reference="2")
    assert life.happen(again).settled == [again]
    order = _refresh(life)
    changed = life.loaded(info(content=b"2"), order.attempt)
    effects = life.happen(changed)
    assert effects.changed["offers"].result == info(content=b"2")
    [delete] = effects.orders
    assert isinstance(delete, Delete)
    assert (delete.info, delete.attempt < order.attempt) == (info(), True)
    repeated = life.happen(changed)
    assert (repeated.changed, repeated.orders, life.is_changed) == ({}, [], False)


def test_a_request_of_the_same_poll_hears_of_the_change_too(life: Life) -> None:
    order = _refresh(life)
    again = life.request(reference="2")
    effects = life.happen(again, life.loaded(info(content=b"2"), order.attempt))
    assert [found.result for found in effects.results] == [info(), info(content=b"2")]


def test_the_same_bytes_again_are_no_news(life: Life) -> None:
    order = _refresh(life)
    same = info()
    same.source_etag = "2"
    effects = life.happen(life.loaded(same, order.attempt))
    assert (effects.changed, effects.orders) == ({}, [])
    assert life.state is not None
    assert life.state.refresh_at == life.now + MONTH


@pytest.mark.parametrize(
    ("failure", "pause"),
    [(NOT_FOUND, timedelta(days=1)), (HOST_DOWN, timedelta(minutes=1)), (GONE, MONTH)],
    ids=["not found", "host down", "gone"],
)
def test_what_its_host_lost_stays_and_is_tried_again(life: Life, failure: LoadFailure, pause: timedelta) -> None:
    order = _refresh(life)
    effects = life.happen(life.loaded(failure, order.attempt))
    assert (effects.orders, effects.results, effects.waiting, effects.changed) == ([], [], {}, {})
    assert life.state is not None
    assert life.state.holdings["offers"].info == info()
    assert life.state.failure == failure
    assert life.state.next_attempt_at == life.now + pause
    again = life.request(reference="2")
    assert [found.result for found in life.happen(again).results] == [info()]
    order = _refresh(life, days=pause / timedelta(days=1))
    life.happen(life.loaded(Unchanged(), order.attempt))
    assert life.state.failure is None


def test_another_namespace_gets_the_picture_though_its_refresh_failed(life: Life) -> None:
    order = _refresh(life)
    life.happen(life.loaded(NOT_FOUND, order.attempt))
    effects = life.happen(life.request("shops"))
    assert effects.results == []
    assert [type(order) for order in effects.orders] == [Copy]


def test_what_its_host_forbids_to_show_is_deleted_and_comes_back_once_it_may(life: Life) -> None:
    order = _refresh(life)
    forbidden = LoadFailure(code=NOINDEX)
    effects = life.happen(life.loaded(forbidden, order.attempt))
    assert [type(order) for order in effects.orders] == [Delete]
    assert effects.changed["offers"].result == forbidden
    assert [found.result for found in life.happen(life.request(reference="2")).results] == [forbidden]
    life.pass_time(days=1)
    [again] = life.happen(life.look()).orders
    assert isinstance(again, Download)
    assert again.held is None
    effects = life.happen(life.loaded(info(), again.attempt))
    assert effects.changed["offers"].result == effects.waiting["offers"].result == info()


def test_other_namespaces_get_the_change_by_a_copy(life: Life) -> None:
    [copy] = life.happen(life.request("shops")).orders
    assert isinstance(copy, Copy)
    life.happen(life.loaded(info("shops"), copy.attempt, "shops"))
    order = _refresh(life)
    effects = life.happen(life.loaded(info(order.namespace, b"2"), order.attempt, order.namespace))
    [copy] = [order for order in effects.orders if isinstance(order, Copy)]
    effects = life.happen(life.loaded(info(copy.namespace, b"2"), copy.attempt, copy.namespace))
    assert set(effects.changed) == {copy.namespace}
    assert [type(order) for order in effects.orders] == [Delete]


def test_a_copy_that_does_not_fit_is_not_ordered_again_at_once(life: Life) -> None:
    [copy] = life.happen(life.request("shops")).orders
    assert isinstance(copy, Copy)
    life.happen(life.loaded(info("shops"), copy.attempt, "shops"))
    order = _refresh(life)
    orders = life.happen(life.loaded(info(order.namespace, b"2"), order.attempt, order.namespace)).orders
    [copy] = [order for order in orders if isinstance(order, Copy)]
    full = life.loaded(LoadFailure(code=QUOTA_EXCEEDED), copy.attempt, copy.namespace)
    assert life.happen(full).orders == []
    life.pass_time(days=2)
    assert life.happen(life.look()).orders == []


def test_who_requests_it_elsewhere_meanwhile_waits_for_the_refresh(life: Life) -> None:
    order = _refresh(life)
    assert life.happen(life.request("shops")).orders == []
    [copy] = [order for order in life.happen(life.loaded(Unchanged(), order.attempt)).orders if isinstance(order, Copy)]
    assert copy.namespace == "shops"


def test_a_refresh_without_a_result_is_ordered_again(life: Life) -> None:
    order = _refresh(life)
    life.pass_time(minutes=59)
    assert life.happen(life.look()).orders == []
    again = _refresh(life, days=1 / 24 / 60)
    assert again.attempt > order.attempt
    assert life.happen(life.loaded(NOT_FOUND, order.attempt)).orders == []
    assert life.state is not None
    assert life.state.failure is None


def test_what_was_put_or_requested_by_hand_is_not_refreshed(life: Life) -> None:
    life.happen(Request("offers", NOBODY, "", URL, life.now))
    assert life.state is not None
    assert (life.state.refresh_at, life.state.next_attempt_at) == (None, None)
    life.pass_time(days=90)
    assert life.happen(life.look()).orders == []


def test_a_put_in_place_of_a_picture_is_heard_of(life: Life) -> None:
    life.pass_time(minutes=1)
    effects = life.happen(Put(info(content=b"2"), life.now))
    assert effects.changed["offers"].result == info(content=b"2")
    assert life.state is not None
    assert life.state.refresh_at is None


def test_a_deletion_is_the_last_that_they_hear(life: Life) -> None:
    order = _refresh(life)
    life.pass_time(minutes=1)
    again = life.request(reference="2", at=life.now - timedelta(seconds=30))
    effects = life.happen(
        again,
        life.loaded(info(content=b"2"), order.attempt),
        life.deletion(),
        life.loaded(info(content=b"2"), order.attempt),
    )
    assert (effects.settled, effects.forgotten) == ([], {"", "offers"})
    last = effects.changed["offers"]
    assert isinstance(last.result, LoadFailure)
    assert (last.result.code, last.attempt > order.attempt) == (DELETED, True)
    assert effects.waiting == effects.changed, "waiting requests get it, too"
    assert [found.result for found in effects.results] == [info(), info(content=b"2"), last.result]
    assert life.happen(life.deletion()).changed == {}, "once"


def test_a_picture_from_before_refreshes_gets_a_time_once_it_is_requested(life: Life) -> None:
    assert life.state is not None
    life.state.refresh_at = life.state.next_attempt_at = None
    life.happen(life.request(reference="2"))
    assert life.is_changed
    assert life.state.next_attempt_at == life.now + MONTH
    life.happen(life.request(reference="3"))
    assert not life.is_changed


def test_a_host_lengthens_the_time_and_does_not_shorten_it() -> None:
    def time(fresh_for: timedelta | None, url_hash: bytes = HASH) -> timedelta:
        return refresh_time(url_hash, START, after=MONTH, fresh_for=fresh_for) - START

    assert time(None) == time(timedelta(hours=1)) == MONTH
    assert time(timedelta(days=60)) == timedelta(days=60)
    assert time(timedelta(days=365)) == timedelta(days=120)


def test_pictures_that_came_together_are_not_refreshed_together() -> None:
    times = {
        refresh_time(bytes(12) + number.to_bytes(4, "big"), START, after=MONTH, fresh_for=None) - START
        for number in range(0, 1 << 32, 1 << 24)
    }
    assert len(times) == 256
    assert min(times) == MONTH
    assert timedelta(days=44) < max(times) < timedelta(days=45)


@pytest.mark.parametrize(
    ("cache_control", "promised"),
    [
        ("", 0),
        ("public, max-age=3600", 3600),
        ('Max-Age="60"', 60),
        ("max-age=60, s-maxage=600", 600),
        ("max-age=60, no-cache", 0),
        ("no-store", 0),
        ("max-age=-1", 0),
        ("max-age=99999999999999999999", 1 << 31),
        ("max-age", 0),
        ("max-age=x, immutable", 0),
        ("max-age=60, max-age=600", 60),
    ],
)
def test_what_a_host_promises(cache_control: str, promised: int) -> None:
    assert promised_s(cache_control) == promised
