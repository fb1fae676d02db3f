from __future__ import annotations

from classifeed_jobs import Snooze
from classifeed_loader.app.host_turns import HostTurns


def wait_s(turns: HostTurns, url: str) -> float | None:
    """How long a link is to wait; None: it had its turn."""
    try:
        with turns.turn(url):
            return None
    except Snooze as snooze:
        return snooze.for_s


def test_a_host_that_is_busy_is_left_alone_the_longer_the_more_ask():
    turns = HostTurns(waiters=0)
    with turns.turn("http://shop.test/a"):
        first = wait_s(turns, "https://SHOP.test:8443/b")
        assert first is not None
        assert 0.5 <= first <= 1.5
        later = [wait_s(turns, "http://shop.test/b") for _ in range(300)]
        assert 15 <= later[-1] <= 30
        assert wait_s(turns, "http://other.test/") is None
    assert wait_s(turns, "http://shop.test/a") is None
    with turns.turn("http://shop.test/a"):
        assert wait_s(turns, "http://shop.test/b") <= 1.5  # what was refused before is forgotten


def test_some_may_wait_at_their_hosts_but_never_all():
    turns = HostTurns(waiters=1)
    with turns.turn("http://a.test/"), turns.turn("http://b.test/"):
        assert wait_s(turns, "http://a.test/") is None
        with turns.turn("http://a.test/"):
            assert wait_s(turns, "http://a.test/") is not None
            assert wait_s(turns, "http://b.test/") is not None
            assert wait_s(turns, "http://c.test/") is None
        assert wait_s(turns, "http://b.test/") is None


def test_a_link_that_is_none_has_its_turn():
    turns = HostTurns(waiters=0)
    with turns.turn("http://[half"):
        assert wait_s(turns, "http://[half") is not None
    assert wait_s(turns, "http://[half") is None
