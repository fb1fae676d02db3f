"""Every combination of facts has a sound explanation."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from classifeed.feeds.v1 import task_pb2
from classifeed.feeds.v1.feed_pb2 import Fetch
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_api.domain.unknown import UNKNOWN
from classifeed_api.explain.explain import explain
from classifeed_api.explain.facts import Facts, Look

from .explanations import (
    NOW_MICROS,
    UPLOAD,
    assert_sound,
    facts,
    found,
    issue,
    kept,
    link,
    located,
    picture,
    task,
)

# Every response of every source, freely combined, including combinations that should never occur.
issues_ = st.lists(
    st.builds(
        issue,
        st.sampled_from(["PRICE_INVALID", "SKIPPED_TILL_NEXT_LOAD", "DUPLICATE_ID"]),
        st.sampled_from(["ERROR", "WARNING"]),
        st.sampled_from(["VALIDATION", "DUPLICATE", "BANNED", "PICTURE", "CATEGORY"]),
        st.integers(0, 9),
    ),
    max_size=5,
)
tasks_ = st.builds(
    task,
    st.integers(1, 9),
    st.sampled_from(["IN_PROGRESS", "HELD", "SUCCEEDED", "FAILED"]),
    kind=st.sampled_from([task_pb2.TASK_KIND_LOAD, task_pb2.TASK_KIND_DELETE]),
    phase=st.integers(0, 3),
    mode=st.integers(1, 2),
    disposition=st.integers(1, 2),
    run=st.integers(0, 2),
    format=st.sampled_from(["", "yml"]),
    error_code=st.sampled_from(["", "MALFORMED_XML", "RUNS_EXHAUSTED"]),
    warnings=st.lists(st.just("Something."), max_size=1),
)
locations = st.one_of(
    st.just(UNKNOWN),
    st.builds(
        lambda lines, batch, has_reply: located(*lines, batch=batch, has_reply=has_reply),
        st.lists(st.integers(4, 30), max_size=8),
        st.integers(0, 2),
        st.booleans(),
    ),
)
looks = st.builds(Look, tasks_, locations, st.one_of(st.just(UNKNOWN), issues_))
offers = st.builds(
    kept,
    st.sampled_from(["PENDING", "ACTIVE", "REJECTED", "BANNED", "REMOVED"]),
    st.integers(0, 9),
    st.sampled_from(["ADDED", "UPDATED", "REMOVED", "MADE_MANUAL"]),
    origin=st.integers(1, 2),
    published_version=st.sampled_from([0, NOW_MICROS]),
    published_content=st.sampled_from([None, OfferContent(title="x")]),
    waiting_task_id=st.sampled_from([0, 9]),
    content=st.sampled_from([OfferContent(), OfferContent(category_id="1"), OfferContent(picture_urls=["a", "b"])]),
    pictures=st.lists(st.sampled_from([picture("STORED"), picture("AWAITED"), picture("FAILED")]), max_size=3),
)
links = st.builds(
    link,
    st.sampled_from(["", "QUEUED", "RUNNING", "LOADED", "NOT_MODIFIED", "FAILED", "DROPPED"]),
    failures=st.integers(0, 2),
    is_paused=st.booleans(),
)
hits = st.builds(found, st.sampled_from([3, 24, 900]))
any_facts = st.builds(
    facts,
    st.one_of(st.sampled_from([UNKNOWN, None]), looks),
    st.one_of(st.sampled_from([UNKNOWN, None]), offers),
    st.one_of(st.sampled_from([UNKNOWN, None]), hits),
    st.sampled_from([UNKNOWN, None, UPLOAD, Fetch(fetch_id=1)]),
    newer=st.one_of(st.none(), tasks_),
    before=st.one_of(st.none(), looks),
    lacking=st.lists(st.integers(1, 9), max_size=3),
    link=st.one_of(st.sampled_from([UNKNOWN, None]), links),
)


@settings(max_examples=600, deadline=None)
@given(any_facts)
def test_every_combination_of_facts_has_a_sound_explanation(known: Facts) -> None:
    assert_sound(explain(known))
