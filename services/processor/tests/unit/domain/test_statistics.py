"""Counts of issues are exact, and few issues are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from classifeed.feeds.v1.load_pb2 import (
    ISSUE_KIND_VALIDATION,
    ISSUE_LEVEL_ERROR,
    ISSUE_LEVEL_WARNING,
    IssueLevel,
    OfferError,
)
from classifeed.feeds.v1.offer_results_pb2 import OfferCounts
from classifeed.feeds.v1.task_pb2 import FeedStatistics
from classifeed_processor.domain.statistics import (
    COUNTED_FIELDS,
    LISTED_A_CODE,
    LISTED_A_TASK,
    add_counts,
    add_issues,
    unlisted_of,
)

from ...conftest import Load, WriteOffer, WriteYml


def issue(code: str, field: str = "f", level: IssueLevel = ISSUE_LEVEL_ERROR) -> OfferError:
    return OfferError(error_id="i", external_id="a", level=level, kind=ISSUE_KIND_VALIDATION, code=code, field=field)


def test_counts_of_batches_add_up_and_what_is_in_another_count_is_no_part_of_the_total() -> None:
    statistics = FeedStatistics()
    for _ in range(2):
        add_counts(statistics, OfferCounts(added=4, rejected_validation=3, rejected_existing=2))
    assert statistics == FeedStatistics(total=14, added=8, rejected_validation=6, rejected_existing=4)


def batches(errors: list[OfferError], size: int) -> Iterator[list[OfferError]]:
    return (errors[at : at + size] for at in range(0, len(errors), size))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from("xy"), st.booleans(), st.integers(1, 90)), max_size=12),
    st.integers(1, 200),
)
def test_every_issue_is_counted_and_the_first_of_a_code_are_listed(
    floods: list[tuple[str, str, bool, int]], size: int
) -> None:
    errors = [
        issue(code, field, ISSUE_LEVEL_ERROR if is_error else ISSUE_LEVEL_WARNING)
        for code, field, is_error, times in floods
        for _ in range(times)
    ]
    statistics = FeedStatistics()
    listed: list[OfferError] = []
    further: list[OfferError] = []
    for batch in batches(errors, size):
        kept = add_issues(statistics, batch)
        listed += kept.rows
        further += kept.further
    by_code = Counter(error.code for error in errors)
    assert statistics.errors + statistics.warnings == sum(count.count for count in statistics.issues) == len(errors)
    assert Counter(error.code for error in listed) == {code: min(n, LISTED_A_CODE) for code, n in by_code.items()}
    assert len(listed) + len(further) == len(errors), "every issue is kept"
    assert sum(count.further for count in statistics.issues) == len(further)
    assert not unlisted_of(statistics, level=0, kind=0, code="")


def test_no_more_than_ten_thousand_are_listed_whatever_the_codes() -> None:
    errors = [issue(f"CODE_{number % 150}") for number in range(150 * 90)]
    statistics = FeedStatistics()
    listed = sum(len(add_issues(statistics, batch).rows) for batch in batches(errors, 1000))
    assert (listed, statistics.errors) == (LISTED_A_TASK, len(errors))
    assert sum(count.further for count in statistics.issues) == len(errors) - LISTED_A_TASK


def test_fields_that_a_file_makes_up_do_not_swell_the_statistics() -> None:
    errors = [issue("FIELD_UNKNOWN", f"tag{number}") for number in range(20_000)]
    statistics = FeedStatistics()
    for batch in batches(errors, 5000):
        add_issues(statistics, batch)
    assert len(statistics.issues) == COUNTED_FIELDS + 1
    assert sum(count.count for count in statistics.issues) == len(errors)
    assert statistics.issues[0].field == "…"
    assert sum(count.further for count in statistics.issues) == 20_000 - LISTED_A_CODE


def test_issues_without_an_id_of_an_older_version_are_counted_only() -> None:
    told = issue("PRICE_INVALID")
    counted = OfferError(external_id="b", level=told.level, kind=told.kind, code=told.code, field=told.field)
    statistics = FeedStatistics()
    assert add_issues(statistics, [counted, told, counted]) == ([told], [])
    assert unlisted_of(statistics, level=0, kind=0, code="") == {"PRICE_INVALID": 2}
    (count,) = statistics.issues
    assert (count.count, count.unlisted, list(count.sample_external_ids)) == (3, 2, ["b", "a"])


def test_issues_of_a_read_feed_are_counted_by_code(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    flawed = [offer(f"a{n}", price=f"x{n}", extra="<picture>p</picture><picture>q</picture>") for n in range(150)]
    records = load(yml(*flawed)).records
    statistics = FeedStatistics()
    kept = add_issues(statistics, [issue for record in records for issue in record.errors])
    assert Counter(issue.code for issue in kept.rows) == {"PRICE_INVALID": 100, "PICTURE_URL_INVALID": 100}
    assert {count.code: (count.count, count.further, count.unlisted) for count in statistics.issues} == {
        "PRICE_INVALID": (150, 50, 0), "PICTURE_URL_INVALID": (150, 50, 0),
    }  # fmt: skip
