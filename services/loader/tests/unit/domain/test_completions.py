"""Each completion has a message, each code a fault."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1 import feed_pb2
from classifeed.feeds.v1.task_pb2 import Task
from classifeed_common.fetch import FETCH_FAULTS
from classifeed_domain.namespace_names import parse_namespace
from classifeed_loader.domain.completions import dropped, handed_over
from classifeed_loader.domain.faults import FAULTS, OURS, LoadFailed
from classifeed_loader.domain.fetches import FetchKey, shown_elsewhere

KEY = FetchKey("shop", "default", 7)


def test_codes_are_distinct_and_known() -> None:
    assert not FAULTS.keys() & FETCH_FAULTS.keys()
    assert FETCH_FAULTS.keys() >= OURS
    for code, fault in FAULTS.items():
        assert LoadFailed(code, "It is so").message == f"It is so. {fault.suggestion}"


def test_a_dropped_fetch_says_why() -> None:
    statuses = [status for status in feed_pb2.FeedStatus.values() if status]
    assert len({dropped(status).message for status in statuses}) == len(statuses)


@pytest.mark.parametrize(
    ("fetch", "is_as_before", "outcome"),
    [
        (KEY.name, False, feed_pb2.FETCH_OUTCOME_LOADED),
        (KEY.name, True, feed_pb2.FETCH_OUTCOME_LOADED),
        ("", True, feed_pb2.FETCH_OUTCOME_NOT_MODIFIED),
        (KEY._replace(fetch_id=6).name, False, feed_pb2.FETCH_OUTCOME_SAME_CONTENT),
    ],
)
def test_the_task_named_decides_the_end(fetch: str, is_as_before: bool, outcome: feed_pb2.FetchOutcome) -> None:
    completion = handed_over(KEY, Task(name="t", fetch=fetch), is_as_before=is_as_before)
    assert (completion.outcome, completion.task) == (outcome, "t")
    assert completion.message


@pytest.mark.parametrize(
    ("final", "own", "shown"),
    [
        ("http://shop.test/a?key=1", "http://SHOP.test:80/a?key=2", ""),
        ("https://shop.test/a?key=1", "http://shop.test/a", "https://shop.test/a"),
        ("https://cdn.test:8443/a/b.xml?token=x", "https://shop.test/a", "https://cdn.test:8443/a/b.xml"),
    ],
)
def test_where_a_file_came_from_is_shown_without_its_query(final: str, own: str, shown: str) -> None:
    assert shown_elsewhere(final, own) == shown


@pytest.mark.parametrize("name", ["sellers/s/feeds/n", "sellers/s/feeds/n/fetches/0", "sellers/s/feeds/n/fetches/1/x"])
def test_what_names_no_fetch_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        FetchKey.parse(name)
    assert FetchKey.parse(KEY.name) == KEY
    with pytest.raises(ValueError, match="is not a name"):
        parse_namespace(KEY.name)
