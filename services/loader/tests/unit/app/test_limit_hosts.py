from __future__ import annotations

from datetime import UTC, datetime

import pytest

from classifeed_common.fetch import HostPaused
from classifeed_jobs import Snooze
from classifeed_loader.app.limit_hosts import HostSlots


def wait_s(slots: HostSlots, url: str, seller: str = "shop") -> float | None:
    """Return for how long a link has to wait; None if it got a slot."""
    try:
        with slots.slot(url, seller):
            return None
    except Snooze as snooze:
        return snooze.for_s


def test_a_host_that_is_busy_is_left_alone_the_longer_the_more_ask() -> None:
    slots = HostSlots(per_host=1, waiters=0)
    with slots.slot("http://shop.test/a", "shop"):
        first = wait_s(slots, "https://SHOP.test:8443/b")
        assert first is not None
        assert 0.5 <= first <= 1.5
        later = [wait_s(slots, "http://shop.test/b") for _ in range(300)]
        assert later[-1] is not None
        assert 15 <= later[-1] <= 30
        assert wait_s(slots, "http://other.test/") is None
    assert wait_s(slots, "http://shop.test/a") is None
    with slots.slot("http://shop.test/a", "shop"):
        again = wait_s(slots, "http://shop.test/b")
        assert again is not None
        assert again <= 1.5  # earlier refusals are forgotten


def test_some_may_wait_at_their_hosts_but_never_all() -> None:
    slots = HostSlots(per_host=1, waiters=1)
    with slots.slot("http://a.test/", "shop"), slots.slot("http://b.test/", "shop"):
        assert wait_s(slots, "http://a.test/") is None
        with slots.slot("http://a.test/", "shop"):
            assert wait_s(slots, "http://a.test/") is not None
            assert wait_s(slots, "http://b.test/") is not None
            assert wait_s(slots, "http://c.test/") is None
        assert wait_s(slots, "http://b.test/") is None


def test_a_link_that_is_none_has_its_fetch() -> None:
    slots = HostSlots(per_host=1, waiters=0)
    with slots.slot("http://[half", "shop"):
        assert wait_s(slots, "http://[half") is not None
    assert wait_s(slots, "http://[half") is None


def test_another_seller_has_a_connection_of_its_own_at_a_host_that_one_seller_holds() -> None:
    slots = HostSlots(per_host=2, waiters=1)
    with slots.slot("http://a.test/1", "flood"), slots.slot("http://a.test/2", "flood"):  # the second one waits
        assert wait_s(slots, "http://a.test/3", "flood") is not None
        assert wait_s(slots, "http://a.test/4", "shop") is None
        with slots.slot("http://a.test/4", "shop"):
            assert wait_s(slots, "http://a.test/5", "third") is not None  # both connections are taken
            assert wait_s(slots, "http://b.test/", "flood") is None
    assert wait_s(slots, "http://a.test/", "flood") is None


def refused(slots: HostSlots, url: str, host: str = "shop.test", wait_s: float = 5) -> float:
    """Return for how long a link waits that got no permit."""
    with pytest.raises(Snooze) as snooze, slots.slot(url, "shop"):
        raise HostPaused(host, wait_s, datetime.now(UTC), by_retry_after=False)
    return snooze.value.for_s


def test_one_that_the_host_itself_refuses_waits_the_longer_the_more_are_refused() -> None:
    """Other processes, unknown to this one, may hold all permits of the host."""
    slots = HostSlots(per_host=1, waiters=0)
    waits = [refused(slots, "http://shop.test/a") for _ in range(200)]
    assert 5.5 <= waits[0] <= 6.5
    assert 20 <= waits[-1] <= 35
    assert wait_s(slots, "http://shop.test/a") is None
    assert refused(slots, "http://shop.test/a", wait_s=0) <= 1.5


def test_while_one_tries_a_host_that_refused_the_others_wait_in_the_queue() -> None:
    slots = HostSlots(per_host=9, waiters=2)
    refused(slots, "http://shop.test/a")
    with slots.slot("http://shop.test/a", "a"), slots.slot("http://shop.test/b", "b"):
        assert wait_s(slots, "http://shop.test/c", "c") is not None
        assert wait_s(slots, "http://other.test/", "c") is None
    alone = HostSlots(per_host=9, waiters=0)
    refused(alone, "http://shop.test/a")
    with alone.slot("http://shop.test/a", "a"):
        assert wait_s(alone, "http://shop.test/c", "c") is not None


def test_who_is_refused_at_the_end_of_a_redirect_does_not_ask_its_beginning_again_and_again() -> None:
    slots = HostSlots(per_host=1, waiters=0)
    assert refused(slots, "http://short.test/a", wait_s=1) >= 60
    assert wait_s(slots, "http://short.test/b") is None, "it refused no fetch"


def test_what_is_known_of_refusals_is_bounded() -> None:
    slots = HostSlots(per_host=1, waiters=0)
    for number in range(20_001):
        refused(slots, "http://short.test/a", host=f"shop{number}.test")
    assert len(slots._refused) <= 10_000
