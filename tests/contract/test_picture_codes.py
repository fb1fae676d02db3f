"""Warnings about pictures have the texts of the page of codes, and every failure of the pictures service has a code."""

from __future__ import annotations

from classifeed_offers.domain.picture_issues import CODES, FAILED, WORDS
from classifeed_pictures.decoding.faults import CODES as DECODE_CODES
from classifeed_pictures.domain.lifecycle import retries
from classifeed_processor.domain.error_codes import ISSUES, PICTURE


def test_owner_and_page_have_the_same_words() -> None:
    assert set(WORDS) == {code for code, issue in ISSUES.items() if issue.kind == PICTURE}
    for code, words in WORDS.items():
        assert (words.title, words.suggestion) == (ISSUES[code].title, ISSUES[code].suggestion)


def test_each_failure_that_pictures_name_by_themselves_has_its_own_words() -> None:
    named = {
        *DECODE_CODES,
        *(code for codes in retries.CODES.values() for code in codes if code.startswith("PICTURE_")),
    }
    # Failures that sellers cannot fix, and failures that a download replaces before they are reported.
    ours = {*retries.OF_THE_NAMESPACE, retries.INTERNAL_ERROR, retries.SOURCE_GONE}
    assert {code for code in named if code not in CODES} == ours
    assert FAILED not in CODES.values()
