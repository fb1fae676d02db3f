"""Every failure has a text for sellers, with the title on the page of codes."""

from __future__ import annotations

from collections import Counter

import pytest

from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord
from classifeed.feeds.v1.offer_results_pb2 import OfferBatchResult
from classifeed.offers.v1.offer_pb2 import OfferPicture
from classifeed.offers.v1.picture_records_pb2 import PictureRecords
from classifeed.pictures.v1.picture_pb2 import LoadFailure
from classifeed_common.fetch import FETCH_FAULTS
from classifeed_domain.pictures.issues import CODES, FAILED, PICTURE_ISSUES, code_of
from classifeed_offers.domain.decide import RecordOutcome
from classifeed_offers.domain.issues import picture_issue
from classifeed_offers.domain.results import BatchSummary


def failed(code: str, message: str = "It did not work.", url: str = "https://a.example/x.jpg") -> OfferPicture:
    return OfferPicture(url=url, failure=LoadFailure(code=code, message=message))


@pytest.mark.parametrize("code", sorted(FETCH_FAULTS))
def test_each_failure_of_a_download_becomes_a_warning_with_link_reason_and_fix(code: str) -> None:
    issue = picture_issue("a", failed(code), ordinal=3, line=42)
    assert issue.code in PICTURE_ISSUES
    assert issue.message == "The picture https://a.example/x.jpg could not be loaded: It did not work."
    assert (issue.line, issue.ordinal, issue.excerpt) == (42, 3, "https://a.example/x.jpg")
    assert issue.title
    assert issue.suggestion.endswith(".")


def test_the_link_is_named_once() -> None:
    url = "https://a.example/x.jpg"
    issue = picture_issue("a", failed("HTTP_NOT_FOUND", f"{url} responded with status 404. Check the link.", url))
    assert issue.message == f"The picture {url} could not be loaded: it responded with status 404. Check the link."


def test_what_is_not_known_is_a_failure() -> None:
    assert code_of(LoadFailure(code="ANYTHING_NEW")) == FAILED
    assert picture_issue("a", failed("ANYTHING_NEW", "")).message.endswith(": ANYTHING_NEW.")


def test_legal_reasons_are_no_wrong_requests() -> None:
    assert code_of(LoadFailure(code="HTTP_UNEXPECTED", http_status=451)) == "PICTURE_BLOCKED"


def test_each_code_for_sellers_is_used() -> None:
    assert set(CODES.values()) | {FAILED} == set(PICTURE_ISSUES)


def test_long_links_are_cut_and_still_distinct() -> None:
    one, other = (picture_issue("a", failed("TOO_LARGE", url="https://a.example/" + "x" * 5000 + end)) for end in "12")
    assert len(one.excerpt) == len(other.excerpt) == 200
    assert one.error_id != other.error_id


def test_results_with_all_warnings_fit_into_a_message() -> None:
    records = [OfferRecord(external_id=f"offer {n}") for n in range(100)]
    summary = BatchSummary()
    for record in records:
        faults = PictureRecords()
        for n in range(30):
            url = f"https://shop.example/{'x' * 400}/{record.external_id}/{n}.jpg"
            record.content.picture_urls.append(url)
            faults.pictures.append(failed("HTTP_NOT_FOUND", "m" * 500, url))
        summary.add(record, RecordOutcome.UNCHANGED, None, exists=True)
        summary.add_pictures(record, faults.SerializeToString())
    result = OfferBatchResult.FromString(summary.to_keep(OfferBatch(records=records)))
    assert 500 < len(result.errors) < 20 * len(records)
    assert result.ByteSize() < 900_000
    per_offer = Counter(error.external_id for error in result.errors)
    assert max(per_offer.values()) == 20
