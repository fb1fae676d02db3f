"""Recipients own their pictures: which comparisons and recipients delete one, and who is informed."""

from __future__ import annotations

import pytest

from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_pictures.domain.lifecycle.effects import RequestResult, WaitingResult
from classifeed_pictures.domain.lifecycle.orders import Copy, Delete, Download
from classifeed_pictures.domain.lifecycle.recipients import OFFERS, Recipient, are_only_offers
from classifeed_pictures.domain.lifecycle.retries import DELETED

from .lives import Life, info


@pytest.fixture
def life() -> Life:
    """Return a held picture of offers."""
    life = Life()
    [order] = life.happen(life.request()).orders
    assert isinstance(order, Download)
    life.happen(life.loaded(info(), order.attempt))
    life.pass_time(minutes=1)
    return life


def _hold_in(life: Life, namespace: str, recipient: str) -> None:
    [order] = life.happen(life.request(namespace, recipient=recipient, client="")).orders
    assert isinstance(order, Copy)
    life.happen(life.loaded(info(namespace), order.attempt, namespace))
    life.pass_time(minutes=1)


def _compare_for_days(life: Life, days: int = 3) -> None:
    for _ in range(days):
        life.pass_time(hours=25)
        assert life.happen(life.unused()).orders == []


def _code(result: RequestResult | WaitingResult) -> str:
    assert isinstance(result.result, LoadFailure)
    return result.result.code


@pytest.mark.parametrize("namespace", ["offers", "banners"])
def test_comparisons_keep_what_another_recipient_has_requested(life: Life, namespace: str) -> None:
    if namespace == "offers":
        life.happen(life.request(recipient="banners", client=""))
    else:
        _hold_in(life, namespace, "banners")
    _compare_for_days(life)
    assert life.state is not None
    assert life.state.delete_mark_at is None


def test_a_recipient_that_came_after_the_mark_keeps_the_picture(life: Life) -> None:
    early = life.request(recipient="banners", client="", at=life.now)
    life.pass_time(minutes=1)
    life.happen(life.unused())
    life.pass_time(hours=25)
    # Both in one poll; the time of the request is before the mark, as it may be for a row of a file.
    assert life.happen(early, life.unused()).orders == []
    assert life.state is not None


def test_comparisons_keep_what_is_held_for_unknown_recipients(life: Life) -> None:
    life.recipients.clear()
    _compare_for_days(life)
    life.happen(life.request())
    life.pass_time(hours=1)
    life.happen(life.unused())
    life.pass_time(hours=25)
    assert [type(order) for order in life.happen(life.unused()).orders] == [Delete]


def test_a_namespace_without_a_known_recipient_keeps_the_picture() -> None:
    offers = Recipient("offers", "seller", OFFERS)
    assert are_only_offers([offers], ["offers"])
    assert not are_only_offers([offers], ["offers", "banners"])
    assert not are_only_offers([], ["offers"])
    assert not are_only_offers([offers, Recipient("banners", "banners", "")], ["offers", "banners"])
    assert are_only_offers([], []), "no request waits, and nothing is held"


def test_a_comparison_that_deletes_sends_the_result_to_all_who_have_the_picture(life: Life) -> None:
    held = life.state
    assert held is not None
    attempt = held.attempt
    life.happen(life.unused())
    life.pass_time(hours=25)
    effects = life.happen(life.unused())
    assert [type(order) for order in effects.orders] == [Delete]
    assert _code(effects.changed["offers"]) == DELETED
    assert effects.changed["offers"].attempt > attempt, "the higher attempt holds"
    assert life.state is None


def test_a_recipient_that_gives_up_deletes_nothing_that_others_need(life: Life) -> None:
    life.happen(life.request(recipient="banners", client=""))
    effects = life.happen(life.given_up("banners"))
    assert effects.orders == []
    assert effects.changed == {}
    assert _code(effects.given_up["offers", "banners"]) == DELETED
    assert life.recipients == {Recipient("offers", "seller", OFFERS)}
    life.pass_time(minutes=1)
    life.happen(life.unused())
    life.pass_time(hours=25)
    assert [type(order) for order in life.happen(life.unused()).orders] == [Delete], "only offers use it again"


def test_the_last_recipient_that_gives_up_deletes_the_picture_of_its_namespace(life: Life) -> None:
    _hold_in(life, "banners", "banners")
    effects = life.happen(life.given_up("banners"))
    [order] = effects.orders
    assert isinstance(order, Delete)
    assert order.info == info("banners")
    assert _code(effects.changed["banners"]) == DELETED
    assert life.state is not None
    assert set(life.state.holdings) == {"offers"}


def test_a_recipient_gives_up_in_the_namespace_that_it_names(life: Life) -> None:
    _hold_in(life, "banners", "seller")
    life.happen(life.given_up("seller", "banners"))
    assert life.state is not None
    assert set(life.state.holdings) == {"offers"}
    life.happen(life.given_up("stranger"))
    assert set(life.state.holdings) == {"offers"}
    life.happen(life.given_up("seller"))
    assert life.state is None


def test_requests_of_the_same_poll_end_with_the_recipient(life: Life) -> None:
    effects = life.happen(
        life.request(reference="2", recipient="banners", client=""),
        life.given_up("banners"),
        life.request(reference="3", recipient="banners", client=""),
    )
    assert [(each.request.reference, type(each.result).__name__) for each in effects.results] == [
        ("2", "PictureInfo"),
        ("2", "LoadFailure"),
        ("3", "PictureInfo"),
    ]
    assert [each.reference for each in effects.settled] == ["3"]


def test_what_was_put_by_hand_stays_when_its_recipient_gives_up(life: Life) -> None:
    assert life.state is not None
    life.state.is_put = True
    effects = life.happen(life.given_up("seller"))
    assert effects.orders == []
    assert ("offers", "seller") in effects.given_up
    assert life.state is not None
