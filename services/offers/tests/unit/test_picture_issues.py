"""Every failure has words for sellers, and each has the title that the page of codes has."""

from __future__ import annotations

import pytest

from classifeed.offers.v1.offer_pb2 import OfferPicture
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_common.fetch import FETCH_FAULTS
from classifeed_offers.domain.picture_issues import CODES, FAILED, WORDS, code_of, picture_issue


def failed(code: str, message: str = "It did not work.", url: str = "https://a.example/x.jpg") -> OfferPicture:
    return OfferPicture(url=url, failure=LoadFailure(code=code, message=message))


@pytest.mark.parametrize("code", sorted(FETCH_FAULTS))
def test_each_failure_of_a_download_becomes_a_warning_with_link_reason_and_fix(code: str) -> None:
    issue = picture_issue("a", failed(code), ordinal=3, line=42)
    assert issue.code in WORDS
    assert issue.message == "The picture https://a.example/x.jpg could not be had: It did not work."
    assert (issue.line, issue.ordinal, issue.excerpt) == (42, 3, "https://a.example/x.jpg")
    assert issue.title
    assert issue.suggestion.endswith(".")


def test_what_is_not_known_is_a_failure() -> None:
    assert code_of(LoadFailure(code="ANYTHING_NEW")) == FAILED
    assert picture_issue("a", failed("ANYTHING_NEW", "")).message.endswith(": ANYTHING_NEW.")


def test_legal_reasons_are_no_wrong_requests() -> None:
    assert code_of(LoadFailure(code="HTTP_UNEXPECTED", http_status=451)) == "PICTURE_BLOCKED"


def test_each_code_for_sellers_is_used() -> None:
    assert set(CODES.values()) | {FAILED} == set(WORDS)


def test_long_links_are_cut_and_still_told_apart() -> None:
    one, other = (picture_issue("a", failed("TOO_LARGE", url="https://a.example/" + "x" * 5000 + end)) for end in "12")
    assert len(one.excerpt) == len(other.excerpt) == 200
    assert one.error_id != other.error_id
