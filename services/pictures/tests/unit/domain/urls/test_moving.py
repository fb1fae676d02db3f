"""A key that new rules replace: when it is deleted, what the new key adopts, and which keys a link may have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifeed_pictures.domain.lifecycle.events import Adopt, Move
from classifeed_pictures.domain.lifecycle.orders import Copy, Delete, Download
from classifeed_pictures.domain.urls.canonical import CanonicalRules, canonical_url, url_hash
from classifeed_pictures.domain.urls.rekeying import possible_keys, rekeyed

from ..lifecycle.lives import NOT_FOUND, Life, info

KEY = "https://shop.example/2.jpg"
RULES = st.builds(
    lambda fragment, www, names: CanonicalRules.of(
        {"strip_fragment": fragment, "strip_www": www, "tracking_parameters": sorted(names)}
    ),
    st.booleans(),
    st.booleans(),
    st.sets(st.sampled_from(["a", "b", "utm_*", "c"])),
)


@pytest.fixture
def life() -> Life:
    return Life()


def _move(life: Life, *namespaces: str, is_put: bool = False) -> Move:
    return Move(KEY, url_hash(KEY), frozenset(namespaces), is_put, life.now)


def _store(life: Life, namespace: str = "offers") -> None:
    [order] = life.happen(life.request(namespace)).orders
    assert isinstance(order, Download | Copy)
    life.happen(life.loaded(info(namespace), order.attempt, namespace))


def test_a_key_stays_until_the_other_one_has_all(life: Life) -> None:
    _store(life)
    _store(life, "shops")
    for namespaces in ((), ("offers",)):
        effects = life.happen(_move(life, *namespaces))
        assert effects.orders == []
        assert {each.namespace for each in effects.adoptions[KEY].pictures} == {"offers", "shops"}
        assert not life.is_changed
    effects = life.happen(_move(life, "offers", "shops", "others"))
    assert life.state is None
    orders = [order for order in effects.orders if isinstance(order, Delete)]
    assert orders == effects.orders
    assert [(order.info.namespace, order.moved_to) for order in orders] == [
        ("offers", url_hash(KEY)),
        ("shops", url_hash(KEY)),
    ]
    assert effects.moved_to == url_hash(KEY), "settled recipients get the changes of the new key"
    assert life.happen(_move(life, "offers", "shops")).orders == [], "a repetition does nothing"


def test_a_key_stays_until_the_other_one_counts_as_put(life: Life) -> None:
    _store(life)
    assert life.state is not None
    life.state.is_put = True
    assert life.happen(_move(life, "offers")).adoptions[KEY].is_put
    life.happen(_move(life, "offers", is_put=True))
    assert life.state is None


def test_a_key_stays_while_something_is_under_way(life: Life) -> None:
    [order] = life.happen(life.request()).orders
    assert isinstance(order, Download)
    effects = life.happen(_move(life))
    assert (bool(effects.moved_to), effects.adoptions, life.is_changed) == (False, {}, False)
    life.pass_time(hours=1)
    assert life.happen(_move(life)).moved_to, "a lost order does not block"


def test_requests_that_wait_are_made_again_also_those_of_the_same_poll(life: Life) -> None:
    [order] = life.happen(life.request()).orders
    assert isinstance(order, Download)
    life.happen(life.loaded(NOT_FOUND, order.attempt))
    late = life.request(reference="2")
    effects = life.happen(late, _move(life))
    assert (bool(effects.moved_to), effects.repeated, effects.remembered) == (True, [late], {})
    assert effects.forgotten == set()


def test_what_a_key_adopts_is_copied_once(life: Life) -> None:
    adopt = Adopt((info(), info("shops")), True, life.now)
    effects = life.happen(adopt)
    assert [(type(order), order.namespace) for order in effects.orders if isinstance(order, Copy)] == [
        (Copy, "offers"),
        (Copy, "shops"),
    ]
    assert life.state is not None
    assert life.state.is_put
    assert (life.happen(adopt).orders, life.is_changed) == ([], False)
    for order in effects.orders:
        assert isinstance(order, Copy)
        life.happen(life.loaded(info(order.namespace), order.attempt, order.namespace))
    assert (life.happen(adopt).orders, life.is_changed) == ([], False)


def test_no_comparison_from_before_finds_an_adopted_picture_unused(life: Life) -> None:
    before = life.now
    life.pass_time(minutes=1)
    life.happen(Adopt((info(),), False, life.now))
    life.happen(life.unused(before))
    assert life.state is not None
    assert life.state.delete_mark_at is None


@given(
    st.lists(RULES, min_size=1, max_size=5),
    st.data(),
    st.sets(st.sampled_from(["a=1", "b=2", "utm_x=3", "c=4"])),
)
def test_a_picture_is_under_one_of_the_possible_keys_whenever_it_came(
    history: list[CanonicalRules], data: st.DataObject, parameters: set[str]
) -> None:
    link = f"https://www.shop.example/1.jpg?{'&'.join(sorted(parameters))}#top"
    first = data.draw(st.integers(0, len(history) - 1))
    key = canonical_url(link, history[first])
    keys = [key]
    for rules in history[first + 1 :]:
        if data.draw(st.booleans()):  # a job may not have checked it yet
            keys.append(rekeyed(keys[-1], rules) or keys[-1])
    assert possible_keys(link, history) >= set(keys)
    assert all(CanonicalRules.of(rules.document) == rules for rules in history)
