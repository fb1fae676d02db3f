from __future__ import annotations

from classifeed_loader.app.host_turns import HostTurns


def test_a_host_that_is_busy_is_left_alone_the_longer_the_more_ask():
    turns = HostTurns(waiters=0)
    assert turns.wait_s("http://shop.test/a") is None
    with turns.turn("http://shop.test/a"):
        first = turns.wait_s("https://SHOP.test:8443/b")
        assert first is not None
        assert 0.5 <= first <= 1.5
        later = [turns.wait_s("http://shop.test/b") for _ in range(300)]
        assert 15 <= later[-1] <= 30
        assert turns.wait_s("http://other.test/") is None
    assert turns.wait_s("http://shop.test/a") is None
    with turns.turn("http://shop.test/a"):
        assert turns.wait_s("http://shop.test/b") <= 1.5  # what was refused before is forgotten


def test_a_link_that_is_none_has_its_turn():
    turns = HostTurns(waiters=0)
    with turns.turn("http://[half"), turns.turn("http://[half"):
        assert turns.wait_s("http://[half") is not None
    assert turns.wait_s("http://[half") is None


def test_some_may_wait_at_their_hosts_but_never_all():
    turns = HostTurns(waiters=1)
    with turns.turn("http://a.test/"), turns.turn("http://b.test/"):
        assert turns.wait_s("http://a.test/") is None
        with turns.turn("http://a.test/"):
            assert turns.wait_s("http://a.test/") is not None
            assert turns.wait_s("http://b.test/") is not None
            assert turns.wait_s("http://c.test/") is None
        assert turns.wait_s("http://b.test/") is None
