from __future__ import annotations

from classifeed_jobs import Snooze
from classifeed_loader.app.host_turns import HostTurns


def wait_s(turns: HostTurns, url: str, seller: str = "shop") -> float | None:
    """How long a link is to wait; None: it had its turn."""
    try:
        with turns.turn(url, seller):
            return None
    except Snooze as snooze:
        return snooze.for_s


def test_a_host_that_is_busy_is_left_alone_the_longer_the_more_ask():
    turns = HostTurns(per_host=1, waiters=0)
    with turns.turn("http://shop.test/a", "shop"):
        first = wait_s(turns, "https://SHOP.test:8443/b")
        assert first is not None
        assert 0.5 <= first <= 1.5
        later = [wait_s(turns, "http://shop.test/b") for _ in range(300)]
        assert 15 <= later[-1] <= 30
        assert wait_s(turns, "http://other.test/") is None
    assert wait_s(turns, "http://shop.test/a") is None
    with turns.turn("http://shop.test/a", "shop"):
        assert wait_s(turns, "http://shop.test/b") <= 1.5  # what was refused before is forgotten


def test_some_may_wait_at_their_hosts_but_never_all():
    turns = HostTurns(per_host=1, waiters=1)
    with turns.turn("http://a.test/", "shop"), turns.turn("http://b.test/", "shop"):
        assert wait_s(turns, "http://a.test/") is None
        with turns.turn("http://a.test/", "shop"):
            assert wait_s(turns, "http://a.test/") is not None
            assert wait_s(turns, "http://b.test/") is not None
            assert wait_s(turns, "http://c.test/") is None
        assert wait_s(turns, "http://b.test/") is None


def test_a_link_that_is_none_has_its_turn():
    turns = HostTurns(per_host=1, waiters=0)
    with turns.turn("http://[half", "shop"):
        assert wait_s(turns, "http://[half") is not None
    assert wait_s(turns, "http://[half") is None


def test_another_seller_has_a_connection_of_its_own_at_a_host_that_one_seller_holds():
    turns = HostTurns(per_host=2, waiters=1)
    with turns.turn("http://a.test/1", "flood"), turns.turn("http://a.test/2", "flood"):  # the second one waits
        assert wait_s(turns, "http://a.test/3", "flood") is not None
        assert wait_s(turns, "http://a.test/4", "shop") is None
        with turns.turn("http://a.test/4", "shop"):
            assert wait_s(turns, "http://a.test/5", "third") is not None  # both connections are taken
            assert wait_s(turns, "http://b.test/", "flood") is None
    assert wait_s(turns, "http://a.test/", "flood") is None
