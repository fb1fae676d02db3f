"""Hosts with a label: a bounded number, after any downloads."""

from __future__ import annotations

from classifeed_common.fetch.metrics import OTHER, BusiestHosts


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_labels_are_few_at_any_time_and_change_once_a_period() -> None:
    clock, left = Clock(), list[str]()
    hosts = BusiestHosts(3, on_leave=left.append, now_s=clock)
    labels = set[str]()
    for period in range(50):
        for number in range(200):
            labels.add(hosts.label(f"{period}-{number}.example.com"))
            labels -= set(left)
            assert len(labels - {OTHER}) <= 3
        clock.now_s += 601
    assert len(left) <= 3 * 50
    assert len(hosts._counts) <= 30


def test_the_busiest_get_their_names() -> None:
    clock, left = Clock(), list[str]()
    hosts = BusiestHosts(2, on_leave=left.append, now_s=clock)
    assert [hosts.label(name) for name in ("a", "b", "busy", "a")] == ["a", "b", OTHER, "a"]
    for _ in range(100):
        assert hosts.label("busy") == OTHER
    clock.now_s += 601
    assert hosts.label("busy") == "busy"
    assert left == ["b"]
    assert hosts.label("a") == "a"


def test_who_was_busy_once_makes_room() -> None:
    clock, left = Clock(), list[str]()
    hosts = BusiestHosts(1, on_leave=left.append, now_s=clock)
    for _ in range(1000):
        hosts.label("old")
    for _ in range(20):
        clock.now_s += 601
        hosts.label("new")
    assert hosts.label("new") == "new"
    assert left == ["old"]
